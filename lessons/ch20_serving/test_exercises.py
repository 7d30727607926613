"""The checks of ch20_serving."""
