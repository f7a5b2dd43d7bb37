"""Prints an object graph as Helm templates.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

`fill` replaces the holes of the graph, which are placeholders, by values. This printer writes templates with which Helm
computes the same objects. The printer uses these properties of Go templates
(https://helm.sh/docs/chart_template_guide/):

- Numbers are float64, so the printer converts an integer with ``int64``.
- ``range`` and ``with`` move the dot, so ``$`` is the root in their bodies.
- ``{{-`` removes the white space before the action, and also the line break, so an action leaves no empty line.

A module imports only the modules above it in this list:

    go_text         writes the syntax of Go templates
    presence        computes the test that a node prints something
    context         describes the place in a template at which a node is printed
    nodes           tests the properties of a node
    expressions     prints a node as a pipeline
    texts           prints a node as text inside a line
    scalars         prints a node as a scalar of YAML
    variables       prints lines that assign a variable
    flow_control    prints if, with and range around lines
    neighbours      groups neighbouring entries or items that have the same test
    yaml_lines      prints lines of mappings, sequences and named templates
    named_templates prints a named template as a ``define``
    template_file   prints a whole template file
"""
