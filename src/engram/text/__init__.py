"""Pure functions on words: no files, rows, models or clock."""
