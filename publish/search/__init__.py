"""Make the data that a reader's browser searches: each section and exercise of an edition, and synonyms."""
