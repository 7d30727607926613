"""The pages: what they are made of, their words in three scripts, their notebooks."""
