"""Build the book: outputs of cells, pages, editions, a server to read them."""
