"""ch20_serving, solved."""
