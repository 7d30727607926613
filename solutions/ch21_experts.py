"""ch21_experts, solved."""
