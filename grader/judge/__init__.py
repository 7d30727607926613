"""From what was seen to a verdict, and to the mistake behind it."""
