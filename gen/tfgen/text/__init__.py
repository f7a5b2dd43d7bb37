"""YAML and JSON: parsing with the line and column of each value, writing, formatting, and edits in place."""
