"""Write a vault's memories to files and read memories from files: archives, readable exports, other programs' formats."""
