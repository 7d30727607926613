"""ch23_from_pytorch, solved."""
