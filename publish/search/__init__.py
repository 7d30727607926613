"""Make what a reader's browser searches: each section and exercise of an edition, and which words mean the same."""
