"""What the book says of itself in lists: chapters, names elsewhere, the guide for teachers."""
