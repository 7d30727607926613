"""Run submissions in processes that see nothing but their own file."""
