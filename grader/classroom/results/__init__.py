"""Write the texts for a teacher: the page, the spreadsheet and the progress lines."""
