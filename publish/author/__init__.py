"""Provide the commands for a chapter's author."""
