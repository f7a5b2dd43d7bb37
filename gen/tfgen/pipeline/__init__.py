"""Common steps of `tfgen render`, `check`, `commit` and `diff`, such as the check and the render of job files."""
