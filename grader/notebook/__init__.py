"""Exercises in a Jupyter notebook: an answer stands in a cell, and is checked outside the kernel."""
