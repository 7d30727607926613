"""Known wrong answers of ch20_serving, as code; words.toml explains them."""
