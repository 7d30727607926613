"""Run a check from spec to verdict, started by pytest, a service or a command."""
