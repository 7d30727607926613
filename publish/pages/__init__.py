"""Make the pages: their parts, their texts in three scripts, their notebooks."""
