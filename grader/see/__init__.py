"""Observe what a function does in a child, as plain data that can be compared elsewhere."""
