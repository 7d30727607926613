"""Known wrong answers of ch22_stages, as code; words.toml explains them."""
