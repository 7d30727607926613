"""Get the outputs of the cells: executed, or as recorded in book/outputs/."""
