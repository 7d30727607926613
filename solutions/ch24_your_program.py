"""ch24_your_program, solved."""
