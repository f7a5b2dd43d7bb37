"""The printer: a graph of objects with holes as Helm template text, one noun a module.

    {"replicas": Value("roles.worker.replicas", "integer")}  ->  replicas: {{ .Values.roles.worker.replicas | int64 }}

It is the second of the two functions over the nodes of `holes`; what the first, `fill`, computes, this one writes
down for Helm to compute. Facts of Go templates that it rests on (https://helm.sh/docs/chart_template_guide/):
numbers arrive as float64 and need ``int64``; ``range`` and ``with`` move the dot, so that ``$`` is the root inside;
``{{-`` eats the white space before it, the line break too, so that a directive leaves no line of its own.

Each module uses only what stands above it here:

    go_text         text as Go templates have it
    presence        when anything of a part is left
    context         where something is printed: the dot, the variables, what is known
    nodes           questions about a node alone
    expressions     a node as a pipeline
    texts           a node as text within a line
    scalars         a node as a scalar of YAML
    variables       the lines that assign a variable
    flow_control    if, with and range around lines
    neighbours      entries and items that stand under one test
    yaml_lines      the lines of mappings, sequences and parts
    parts           a part as a ``define``
    template_file   the text of a whole template
"""
