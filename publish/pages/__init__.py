"""Make the pages: their parts, their words in three scripts, their notebooks."""
