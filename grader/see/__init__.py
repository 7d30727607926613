"""What a function does, seen in a child: as plain data that can be compared elsewhere."""
