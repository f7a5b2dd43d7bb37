"""Text to data and back, with the line and column of every value."""
