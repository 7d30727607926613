"""ch14_launching, solved."""
