"""Pure functions on words: no files, no rows, no models, no clock."""
