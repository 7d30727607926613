"""Make reference pages from the rest of the book, so that nothing on them is written twice.

When the book is built, a line `% reference: names` on a page of book/ is replaced by what names.py finds.
"""

PAGES = ("errors", "glossary", "mistakes", "names", "sheet", "then_and_now", "toolkit")
