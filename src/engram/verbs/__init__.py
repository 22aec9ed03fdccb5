"""The verbs of an open vault, by what they are for. Each hands over to a room and decides nothing."""
