"""Checks of jobs, of the objects of jobs, and of the rendered files on disk."""
