"""Read an exercise: its description in a test, its blank, its statement, and the file that answers it."""
