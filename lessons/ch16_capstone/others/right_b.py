"""Right, written another way again."""
