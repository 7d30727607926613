"""Wrong answers of ch21_experts that its mistakes.py does not know."""
