"""Functions that do the work of the commands. These functions call the other packages, and print nothing."""
