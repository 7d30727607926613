"""Wrong answers of ch22_stages that its mistakes.py does not know."""
