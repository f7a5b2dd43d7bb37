"""docs/cli.md: every command with its arguments, as its parser has them."""
