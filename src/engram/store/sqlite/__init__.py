"""SQLite with encrypted pages: one file, one writing thread, a pool of readers, any number of processes."""
