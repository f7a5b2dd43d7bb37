"""YAML and JSON text: parsing with the line and column of each value, writing, formatting, and edits in place."""
