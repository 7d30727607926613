"""The checks of ch21_experts."""
