"""Wrong answers of ch23_from_pytorch that its mistakes.py does not know."""
