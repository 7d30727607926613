"""The checks of ch16_capstone."""
