"""What goes out of a vault as a file, and what comes into one: archives, readable exports, other people's formats."""
