"""ch16_capstone, solved."""
