"""Pictures of jobs: one description, written as SVG, Mermaid or Graphviz text."""
