"""Wrong answers of ch16_capstone that its mistakes.py does not know."""
