"""Steps that render, check, commit and diff share: read, check, render, compare with the disk."""
