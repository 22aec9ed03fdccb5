"""Other people's memory interfaces over ours. Each is a face: it translates calls and shapes, and decides nothing."""
