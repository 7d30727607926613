"""Check the language of the pages: their style, their Chinese characters."""
