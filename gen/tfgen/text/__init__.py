"""YAML and JSON text: parsing (with the line and the column of each value), writing, formatting, and edits in place."""
