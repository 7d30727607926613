"""Judge what was seen: give a verdict, and name the mistake behind it."""
