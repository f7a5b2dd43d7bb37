"""Prints an object graph as Helm templates.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

`fill` replaces the holes of the graph, which are placeholders, by values. This printer writes templates with which Helm
computes the same objects. The printer uses these properties of Go templates
(https://helm.sh/docs/chart_template_guide/):

- Numbers are float64, so the printer converts an integer with ``int64``.
- ``range`` and ``with`` move the dot, so ``$`` is the root in their bodies.
- ``{{-`` removes the white space before the action, and also the line break, so an action leaves no empty line.

A module imports only the modules above it in this list:

    syntax       writes the syntax of Go templates, computes properties of nodes, and describes the place of a node
    expressions  prints a node inside a line
    lines        prints lines, named templates and whole files
"""
