"""Known wrong answers of ch14_launching, as code; words.toml explains them."""
