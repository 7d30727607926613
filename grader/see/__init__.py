"""Observe, in a child, what a function does, as plain data that can be compared elsewhere."""
