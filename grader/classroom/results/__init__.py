"""Write what a teacher reads: the page, the spreadsheet, lines of progress."""
