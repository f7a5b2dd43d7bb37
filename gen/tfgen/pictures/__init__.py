"""Pictures of jobs. tfgen describes a job once, and writes the description as SVG, Mermaid or JSON."""
