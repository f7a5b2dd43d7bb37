"""Prints an object graph as Helm templates.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

`fill` replaces the holes of the graph by values. This printer writes templates with which Helm computes the same
objects. The printer uses these properties of Go templates
(https://helm.sh/docs/chart_template_guide/): numbers are float64 and need ``int64``; ``range`` and ``with`` move the
dot, so that ``$`` is the root in their bodies; ``{{-`` removes the white space before the action, including the line
break, so that an action leaves no empty line.

A module imports only the modules above it in this list:

    go_text         syntax of Go templates
    presence        test for the presence of a node
    context         context of a node: the dot, the variables, the facts
    nodes           properties of a node
    expressions     a node as a pipeline
    texts           a node as text inside a line
    scalars         a node as a scalar of YAML
    variables       lines that assign a variable
    flow_control    if, with and range around lines
    neighbours      entries and items with one test
    yaml_lines      lines of mappings, sequences and parts
    parts           a named part as a ``define``
    template_file   the text of a template
"""
