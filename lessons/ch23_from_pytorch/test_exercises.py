"""The checks of ch23_from_pytorch."""
