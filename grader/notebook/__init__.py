"""Check exercises in a Jupyter notebook: an answer is in a cell and is checked outside the kernel."""
