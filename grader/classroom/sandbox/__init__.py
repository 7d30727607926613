"""Where a submission runs: processes that see nothing but its own file."""
