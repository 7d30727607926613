"""What a chapter's author runs."""
