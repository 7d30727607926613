"""An exercise: what its test says of it, its blank, its statement, and the file that answers it."""
