"""Run a check, from spec to verdict, for pytest, the checking service or a command."""
