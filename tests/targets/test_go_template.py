"""The printed text of nodes: expressions, and the forms that no golden chart has.

tests/golden has the text of the other forms, and tests/equal tests that Helm reads the text as `fill` fills the node.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfgen.graph import holes as h
from tfgen.targets.chart.go_template.expressions import expression
from tfgen.targets.chart.go_template.lines import define, template_file
from tfgen.targets.chart.go_template.syntax import Context

MNIST = Context("mnist")
IMAGE = h.Value("image", "string")
REPLICAS = h.Value("roles.worker.replicas", "integer")
ENABLED = h.Value("gang.enabled", "boolean")
LABELS = h.Value("labels", "map")
ARGS = h.Value("args", "list")
CPU = h.Value("resources.cpu", "quantity")
NAME, ITEM = h.Bound("name"), h.Bound("value")
EXPRESSIONS = {
    ".Values.roles.worker.replicas": REPLICAS,
    '(index .Values "a-b" "c")': h.Value("a-b.c", "string"),
    "$role.image": h.Bound("role", "string", "image"),
    ".Release.Name": h.Release("Release.Name"),
    ".Values.image | default $.x": h.Default(IMAGE, h.Bound("", "string", "x")),
    'printf "%v-%d%%" .Values.image (int64 .Values.roles.worker.replicas)': h.Text((IMAGE, "-", REPLICAS, "%")),
    '"plain"': h.Text(("pl", "ain")),
    "add 1 .Values.roles.worker.replicas": h.Sum(1, REPLICAS),
    "len .Values.image": h.Length(IMAGE),
    "clean .Values.image": h.Clean(IMAGE),
    "not .Values.image": h.Not(IMAGE),
    'ne .Values.image "a"': h.Not(h.Equal(IMAGE, "a")),
    'eq .Values.image "a" "b"': h.AnyOf((h.Equal(IMAGE, "a"), h.Equal(IMAGE, "b"))),
    'and .Values.gang.enabled (eq .Values.image "a")': h.AllOf((ENABLED, h.Equal(IMAGE, "a"))),
    "or .Values.gang.enabled (not .Values.image)": h.AnyOf((ENABLED, h.Not(IMAGE))),
    "gt (int64 .Values.roles.worker.replicas) 3": h.Greater(REPLICAS, 3),
    "gt (len .Values.image) (add 1 .Values.roles.worker.replicas)": h.Greater(h.Length(IMAGE), h.Sum(1, REPLICAS)),
    "sub .Values.roles.worker.replicas 1": h.Sum(REPLICAS, -1),
    'and .Values.gang.enabled .Values.image (eq .Values.image "a")': h.AllOf(
        (ENABLED, h.AllOf((IMAGE, h.Equal(IMAGE, "a"))))
    ),
    'has "a" .Values.args': h.HasItem(ARGS, "a"),
    "has $name .Values.args": h.HasItem(ARGS, NAME),
    'hasKey .Values.labels "a"': h.HasKey(LABELS, "a"),
    'contains "$(" .Values.image': h.Contains(IMAGE, "$("),
    'kindIs "map" $value': h.IsMap(ITEM),
    'dict "image" .Values.image "labels" .Values.labels': h.Dict("image", IMAGE, "labels", LABELS),
    r"regexMatch `^a\.b$` .Values.image": h.Matches(IMAGE, r"^a\.b$"),
}


@pytest.mark.parametrize("expected", EXPRESSIONS)
def test_expression(expected):
    assert expression(EXPRESSIONS[expected], MNIST) == expected


TEMPLATES = {
    "Go quotes the text of a user, and no text of names": (
        {
            "a": h.Text((h.Release("Release.Name"), "-ps")),
            "b": h.Text(("1e", h.Sum(1, REPLICAS))),
            "c": h.Text((IMAGE, "-x")),
            "d": h.Text((h.Default(IMAGE, "x"), "-x")),
            "e": h.Text(("it's: ", h.Release("Release.Name"))),
        },
        """\
        a: {{ .Release.Name }}-ps
        b: '1e{{ add 1 .Values.roles.worker.replicas }}'
        c: {{ printf "%v-x" .Values.image | quote }}
        d: {{ printf "%v-x" (.Values.image | default "x") | quote }}
        e: {{ printf "it's: %v" .Release.Name | quote }}
        """,
    ),
    "braces of a user are text": (
        {"a": "{{ x }}", "b": ["{{", "}}"], "c": {"k{{": "v"}},
        """\
        a: "{{ "{{" }} x }}"
        b:
        - "{{ "{{" }}"
        - "}}"
        c:
          k{{ "{{" }}: v
        """,
    ),
    "neighbors share a condition and the other branch of the last": (
        {"a": h.if_set(IMAGE), "b": h.When(IMAGE, 1, h.When(ENABLED, 2)), "c": h.When(IMAGE, 3, 4)},
        """\
        {{- if .Values.image }}
        a: {{ .Values.image | quote }}
        b: 1
        {{- else if .Values.gang.enabled }}
        b: 2
        {{- end }}
        {{- if .Values.image }}
        c: 3
        {{- else }}
        c: 4
        {{- end }}
        """,
    ),
    "a test within the same test is not repeated, and two nested tests are one": (
        {
            "a": h.When(ENABLED, {"b": 1, "c": h.When(ENABLED, 2)}),
            "d": h.When(h.AllOf((ENABLED, IMAGE)), {"e": 1, "f": h.When(h.AllOf((IMAGE, REPLICAS)), REPLICAS)}),
            "g": h.When(ENABLED, [h.ForEach(LABELS, NAME)]),
        },
        """\
        {{- if .Values.gang.enabled }}
        a:
          b: 1
          c: 2
        {{- end }}
        {{- if and .Values.gang.enabled .Values.image }}
        d:
          e: 1
          {{- with .Values.roles.worker.replicas }}
          f: {{ . | int64 }}
          {{- end }}
        {{- end }}
        {{- if and .Values.gang.enabled .Values.labels }}
        g:
        {{- range $name, $value := .Values.labels }}
        - {{ $name | quote }}
        {{- end }}
        {{- end }}
        """,
    ),
    "a range hides outer names": (
        {"a": h.When(NAME, {"b": 1, "c": [0, h.ForEach(LABELS, h.When(NAME, NAME))], "d": h.When(NAME, 2)})},
        """\
        {{- if $name }}
        a:
          b: 1
          c:
          - 0
          {{- range $name, $value := .Values.labels }}
          {{- with $name }}
          - {{ . | quote }}
          {{- end }}
          {{- end }}
          d: 2
        {{- end }}
        """,
    ),
    "else": (
        {"a": h.When(ENABLED, "x", h.When(IMAGE, "v", "z")), "b": h.When(IMAGE, h.ABSENT, "w")},
        """\
        {{- if .Values.gang.enabled }}
        a: x
        {{- else if .Values.image }}
        a: v
        {{- else }}
        a: z
        {{- end }}
        {{- if not .Values.image }}
        b: w
        {{- end }}
        """,
    ),
    "entries of several kinds are set one by one, because Go would merge a map with a text": (
        h.Let("env", h.Merged((LABELS, h.Value("env", "map")), flat=False), {"e": h.Bound("env", "map")}),
        """\
        {{- $env := deepCopy .Values.labels }}
        {{- range $key, $value := .Values.env }}
        {{- $_ := set $env $key $value }}
        {{- end }}
        {{- with $env }}
        e:
          {{- toYaml . | nindent 2 }}
        {{- end }}
        """,
    ),
    "text of a part that may be empty or no plain YAML": (
        {
            "a": h.Text((h.NamedTemplate("hosts", "Hosts.", h.Repeat(REPLICAS, "h")),)),
            "b": h.Text((h.NamedTemplate("json", "JSON.", h.Text(("[", REPLICAS, "]"))),)),
            "c": h.Text((h.NamedTemplate("its", "Its.", h.Text(("it's: ", REPLICAS))),)),
        },
        """\
        a: '{{ include "mnist.hosts" . }}'
        b: '{{ include "mnist.json" . }}'
        c: {{ printf "%v" (include "mnist.its" .) | quote }}
        """,
    ),
    "a file that cannot be a literal block": (
        {"a": h.File("files/a", " x\n y\n"), "b": h.File("files/b", "")},
        """\
        a: {{ .Files.Get "files/a" | required "the chart has no files/a, or it is empty" | quote }}
        b: {{ .Files.Get "files/b" | quote }}
        """,
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_template(name):
    node, expected = TEMPLATES[name]
    assert template_file(node, MNIST).splitlines() == dedent(expected).splitlines()


def test_part_that_may_be_empty_is_omitted_with_its_key():
    template = h.NamedTemplate("scheduling", "Scheduling.", {"labels": LABELS})
    assert template_file({"a": {"b": 1, h.Splice("s"): template}, "c": {"d": template}}, MNIST).splitlines() == [
        "a:",
        "  b: 1",
        '  {{- with include "mnist.scheduling" . | trimPrefix "\\n" }}',
        "  {{- . | nindent 2 }}",
        "  {{- end }}",
        '{{- if include "mnist.scheduling" . }}',
        "c:",
        '  {{- with include "mnist.scheduling" . | trimPrefix "\\n" }}',
        "  d:",
        "    {{- . | nindent 4 }}",
        "  {{- end }}",
        "{{- end }}",
    ]


def test_two_parts_with_one_name_are_refused():
    with pytest.raises(ValueError, match="two templates are named a"):
        h.named_templates([h.NamedTemplate("a", "A.", "1"), h.NamedTemplate("a", "A.", "2")])


def test_white_space_beside_a_trimming_action_remains():
    template = h.NamedTemplate("hosts", "Hosts.", h.Text((" to ", h.Repeat(REPLICAS, "h"), " \n")))
    assert define(template, MNIST).splitlines()[2] == (
        '{{ " " }}to {{ range $i := until (int .Values.roles.worker.replicas) }}'
        '{{ if $i }},{{ end }}h{{ end }}{{ " \\n" }}'
    )


OPTIONS = {"options": h.Value("labels", "map")}


@pytest.mark.parametrize(
    ("node", "ends"),
    [
        ({"a": OPTIONS}, True),
        ({"a": [{"b": 1, **OPTIONS}]}, True),
        ({**OPTIONS, "b": h.When(IMAGE, 1)}, True),
        ({**OPTIONS, "b": [h.ForEach(LABELS, NAME)]}, True),
        ({"a": h.NamedTemplate("pod", "The pod.", OPTIONS)}, True),
        ({"a": h.When(IMAGE, 1, OPTIONS)}, True),
        ({**OPTIONS, "b": 1}, False),
        ({"a": IMAGE}, False),
        ({"a": "text\n\n"}, False),
    ],
)
def test_object_whose_last_text_may_end_in_empty_lines_ends_with_its_kind(node, ends):
    """Helm trims white space from the end of an object."""
    printed = template_file({"kind": "Any", **node}, MNIST).splitlines()
    assert (printed[-1] == "kind: Any", printed[0] == "kind: Any") == (ends, not ends)


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"a": [{"b": h.if_set(IMAGE)}, 1]}, "the first entry of a list item must always be present"),
        (
            {"a": {"b": [h.ForEach(LABELS, h.When(ITEM, NAME))]}},
            "the presence of a ForEach cannot be tested, because its body may be empty",
        ),
        ("text", "not a mapping or sequence"),
        (
            h.Let("l", h.Merged((h.MapOf({"a": h.When(IMAGE, "b", "c")}), LABELS)), {"a": 1}),
            "an entry of a merged map must not have a second branch",
        ),
        (
            h.Let("l", h.Merged((LABELS, h.MapOf({"a": IMAGE}))), {"a": 1}),
            "an entry of this map must not depend on values of the chart",
        ),
    ],
)
def test_node_that_cannot_be_printed_is_refused(node, says):
    with pytest.raises(TypeError, match=says):
        template_file(node, MNIST)
