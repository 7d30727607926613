"""Run submissions in sandboxes: processes that see only one student's files."""
