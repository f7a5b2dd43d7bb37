"""Writes a static web site that shows the jobs of a repository (`tfgen site`)."""
