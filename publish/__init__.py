"""The book's scripts: outputs of cells, pages, editions, a server to read them."""
