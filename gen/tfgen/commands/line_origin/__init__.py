"""Explain the origin of a line of a rendered file, for ``tfgen explain FILE:LINE``."""
