"""Prints results as text, JSON, Markdown, SARIF and annotations of GitHub Actions."""
