"""The checks of ch22_stages."""
