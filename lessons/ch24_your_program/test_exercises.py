"""The checks of ch24_your_program."""
