"""Make the book for offline reading from the built pages: each edition as PDF and EPUB, and the site as one zip."""
