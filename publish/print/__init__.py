"""The book to take along, from the built pages: each edition as PDF and as EPUB, and the site as one zip."""
