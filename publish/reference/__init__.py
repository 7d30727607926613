"""Pages to look things up in, made of what the book says elsewhere: nothing on them is written a second time.

A page of book/ that has a line `% reference: names` gets there, when the book is built, what names.py finds.
"""

PAGES = ("errors", "glossary", "mistakes", "names", "sheet", "then_and_now", "toolkit")
