"""ch22_stages, solved."""
