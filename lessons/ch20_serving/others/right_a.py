"""Right, written another way."""
