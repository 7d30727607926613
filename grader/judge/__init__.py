"""Judge observations: reach a verdict, and name the mistake behind it."""
