"""Wrong answers of ch14_launching that its mistakes.py does not know."""
