"""Results as text, JSON, Markdown, SARIF and annotations of GitHub Actions."""
