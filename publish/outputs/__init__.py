"""Get the outputs of the cells, by executing them or as recorded in book/outputs/."""
