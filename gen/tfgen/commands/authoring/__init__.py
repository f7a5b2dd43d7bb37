"""Steps of the commands that write and explain job files."""
