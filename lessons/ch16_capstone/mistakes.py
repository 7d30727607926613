"""Known wrong answers of ch16_capstone, as code; words.toml explains them."""
