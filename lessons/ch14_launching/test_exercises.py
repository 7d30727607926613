"""The checks of ch14_launching."""
