"""Known wrong answers of ch23_from_pytorch, as code; words.toml explains them."""
