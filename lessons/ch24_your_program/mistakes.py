"""Known wrong answers of ch24_your_program; words.toml explains them."""
