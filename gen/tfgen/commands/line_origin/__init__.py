"""The origin of a line of a rendered file: ``tfgen explain FILE:LINE``."""
