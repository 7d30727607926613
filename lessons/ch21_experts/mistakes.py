"""Known wrong answers of ch21_experts, as code; words.toml explains them."""
