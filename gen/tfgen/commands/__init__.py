"""What the commands do. They put the steps together; they print nothing."""
