"""Wrong answers of ch20_serving that its mistakes.py does not know."""
