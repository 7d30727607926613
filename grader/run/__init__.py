"""One check from spec to verdict, and what starts it: pytest, a service, a command."""
