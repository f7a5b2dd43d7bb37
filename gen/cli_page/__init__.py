"""Writer of docs/cli.md, which describes the arguments of every command."""
