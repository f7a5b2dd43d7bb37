"""The work of the commands, which combine the steps of all packages and print nothing."""
