"""Build the book: outputs of cells, pages and editions, and a server to read them."""
