"""Wrong answers of ch24_your_program that its mistakes.py does not know."""
