"""Read an exercise: its test's description, its blank, its statement, and the file that answers it."""
