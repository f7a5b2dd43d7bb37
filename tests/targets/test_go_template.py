"""The printed text of each node, in the style of handwritten templates in Helm's documents.

tests/equal tests that Helm reads the text as `fill` fills the node.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfgen.graph.holes import (
    ABSENT,
    AllOf,
    AnyOf,
    Bound,
    ChartOnly,
    CheckedMap,
    Clean,
    Comment,
    Contains,
    Default,
    Dict,
    Equal,
    File,
    Filtered,
    ForEach,
    Greater,
    Guard,
    HasItem,
    HasKey,
    IsMap,
    Items,
    Length,
    Let,
    MapOf,
    Matches,
    Merged,
    NamedTemplate,
    Not,
    NotEmpty,
    Parameter,
    Release,
    Repeat,
    Splice,
    Sum,
    Text,
    Value,
    When,
    call,
    if_set,
    named_templates,
    sentence,
)
from tfgen.targets.chart.go_template.expressions import expression
from tfgen.targets.chart.go_template.lines import define, helpers_file, template_file
from tfgen.targets.chart.go_template.syntax import Context
from tfgen.targets.chart.print_templates import guards_file

MNIST = Context("mnist")
IMAGE = Value("image", "string")
REPLICAS = Value("roles.worker.replicas", "integer")
ENABLED = Value("gang.enabled", "boolean")
LABELS = Value("labels", "map")
ARGS = Value("args", "list")
CPU = Value("resources.cpu", "quantity")
NAME, ITEM = Bound("name"), Bound("value")
RUN = NamedTemplate("run", "The run.", Release("Release.Name"))
WHY = Comment("Why.")

EXPRESSIONS = {
    ".Values.roles.worker.replicas": REPLICAS,
    '(index .Values "a-b" "c")': Value("a-b.c", "string"),
    "$role.image": Bound("role", "string", "image"),
    ".Release.Name": Release("Release.Name"),
    ".Values.image | default $.x": Default(IMAGE, Bound("", "string", "x")),
    'printf "%v-%d%%" .Values.image (int64 .Values.roles.worker.replicas)': Text((IMAGE, "-", REPLICAS, "%")),
    '"plain"': Text(("pl", "ain")),
    "add 1 .Values.roles.worker.replicas": Sum(1, REPLICAS),
    "len .Values.image": Length(IMAGE),
    "clean .Values.image": Clean(IMAGE),
    "not .Values.image": Not(IMAGE),
    'ne .Values.image "a"': Not(Equal(IMAGE, "a")),
    'eq .Values.image "a" "b"': AnyOf((Equal(IMAGE, "a"), Equal(IMAGE, "b"))),
    'and .Values.gang.enabled (eq .Values.image "a")': AllOf((ENABLED, Equal(IMAGE, "a"))),
    "or .Values.gang.enabled (not .Values.image)": AnyOf((ENABLED, Not(IMAGE))),
    "gt (int64 .Values.roles.worker.replicas) 3": Greater(REPLICAS, 3),
    "gt (len .Values.image) (add 1 .Values.roles.worker.replicas)": Greater(Length(IMAGE), Sum(1, REPLICAS)),
    "sub .Values.roles.worker.replicas 1": Sum(REPLICAS, -1),
    'and .Values.gang.enabled .Values.image (eq .Values.image "a")': AllOf(
        (ENABLED, AllOf((IMAGE, Equal(IMAGE, "a"))))
    ),
    'has "a" .Values.args': HasItem(ARGS, "a"),
    "has $name .Values.args": HasItem(ARGS, NAME),
    'hasKey .Values.labels "a"': HasKey(LABELS, "a"),
    'contains "$(" .Values.image': Contains(IMAGE, "$("),
    'kindIs "map" $value': IsMap(ITEM),
    'dict "image" .Values.image "labels" .Values.labels': Dict("image", IMAGE, "labels", LABELS),
    r"regexMatch `^a\.b$` .Values.image": Matches(IMAGE, r"^a\.b$"),
}


@pytest.mark.parametrize("expected", EXPRESSIONS)
def test_expression(expected):
    assert expression(EXPRESSIONS[expected], MNIST) == expected


TEMPLATES = {
    "scalars": (
        {"a": IMAGE, "b": REPLICAS, "c": ENABLED, "d": CPU, "e": "1e3", "f": 1, "g": None, "h": True},
        """\
        a: {{ .Values.image | quote }}
        b: {{ .Values.roles.worker.replicas | int64 }}
        c: {{ .Values.gang.enabled }}
        d: {{ .Values.resources.cpu | quote }}
        e: "1e3"
        f: 1
        g: null
        h: true
        """,
    ),
    "text of names alone is safe as it stands, and a user's is quoted by Go": (
        {
            "a": Text((Release("Release.Name"), "-ps")),
            "b": Text(("1e", Sum(1, REPLICAS))),
            "c": Text((IMAGE, "-x")),
            "d": Text((Default(IMAGE, "x"), "-x")),
            "e": Text(("it's: ", Release("Release.Name"))),
        },
        """\
        a: {{ .Release.Name }}-ps
        b: '1e{{ add 1 .Values.roles.worker.replicas }}'
        c: {{ printf "%v-x" .Values.image | quote }}
        d: {{ printf "%v-x" (.Values.image | default "x") | quote }}
        e: {{ printf "it's: %v" .Release.Name | quote }}
        """,
    ),
    "braces of the user's are text": (
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
    "neighbours under one condition share it": (
        {"a": When(ENABLED, "x"), "b": When(ENABLED, {"c": IMAGE}), "d": if_set(IMAGE)},
        """\
        {{- if .Values.gang.enabled }}
        a: x
        b:
          c: {{ .Values.image | quote }}
        {{- end }}
        {{- with .Values.image }}
        d: {{ . | quote }}
        {{- end }}
        """,
    ),
    "neighbours under one condition share it with the other branch of the last": (
        {"a": if_set(IMAGE), "b": When(IMAGE, 1, When(ENABLED, 2)), "c": When(IMAGE, 3, 4)},
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
    "what is of its test alone has it at the dot": (
        {
            "a": [When(IMAGE, Text(("--image=", IMAGE))), When(REPLICAS, REPLICAS)],
            "b": When(ARGS, {"c": 1, "d": NotEmpty(ARGS)}),
            "e": When(ENABLED, ENABLED),
            "f": When(IMAGE, {"g": IMAGE, "h": REPLICAS}),
        },
        """\
        {{- if or .Values.image .Values.roles.worker.replicas }}
        a:
        {{- with .Values.image }}
        - {{ printf "--image=%v" . | quote }}
        {{- end }}
        {{- with .Values.roles.worker.replicas }}
        - {{ . | int64 }}
        {{- end }}
        {{- end }}
        {{- with .Values.args }}
        b:
          c: 1
          d:
          {{- toYaml . | nindent 2 }}
        {{- end }}
        {{- if .Values.gang.enabled }}
        e: {{ .Values.gang.enabled }}
        {{- end }}
        {{- if .Values.image }}
        f:
          g: {{ .Values.image | quote }}
          h: {{ .Values.roles.worker.replicas | int64 }}
        {{- end }}
        """,
    ),
    "no test is asked again where it is true, and one within another is asked with it": (
        {
            "a": When(ENABLED, {"b": 1, "c": When(ENABLED, 2)}),
            "d": When(AllOf((ENABLED, IMAGE)), {"e": 1, "f": When(AllOf((IMAGE, REPLICAS)), REPLICAS)}),
            "g": When(ENABLED, [ForEach(LABELS, NAME)]),
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
    "a range hides what is known of its names": (
        {"a": When(NAME, {"b": 1, "c": [0, ForEach(LABELS, When(NAME, NAME))], "d": When(NAME, 2)})},
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
    "a text that is asked for often has a name": (
        {"a": Text((RUN, "-a")), "b": When(ENABLED, RUN), "c": [RUN]},
        """\
        {{- $run := include "mnist.run" . }}
        a: {{ $run }}-a
        {{- if .Values.gang.enabled }}
        b: {{ $run | quote }}
        {{- end }}
        c:
        - {{ $run | quote }}
        """,
    ),
    "a reason stands above the first entry that needs it": (
        {"a": {WHY: None, "b": IMAGE}, "c": {WHY: None, "b": IMAGE}},
        """\
        a:
          {{- /* Why. */}}
          b: {{ .Values.image | quote }}
        c:
          b: {{ .Values.image | quote }}
        """,
    ),
    "else": (
        {"a": When(ENABLED, "x", When(IMAGE, "v", "z")), "b": When(IMAGE, ABSENT, "w")},
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
    "maps and lists": (
        {"labels": LABELS, "args": ARGS, "spec": {"labels": LABELS}},
        """\
        {{- with .Values.labels }}
        labels:
          {{- toYaml . | nindent 2 }}
        {{- end }}
        {{- with .Values.args }}
        args:
        {{- toYaml . | nindent 0 }}
        {{- end }}
        {{- with .Values.labels }}
        spec:
          labels:
            {{- toYaml . | nindent 4 }}
        {{- end }}
        """,
    ),
    "a map that is there": (
        {"a": When(LABELS, NotEmpty(LABELS), "none")},
        """\
        {{- if .Values.labels }}
        a:
          {{- toYaml .Values.labels | nindent 2 }}
        {{- else }}
        a: none
        {{- end }}
        """,
    ),
    "splice": (
        {"a": 1, Splice("labels"): LABELS},
        """\
        a: 1
        {{- with .Values.labels }}
        {{- toYaml . | nindent 0 }}
        {{- end }}
        """,
    ),
    "each": (
        {"env": [{"name": "A", "value": IMAGE}, ForEach(LABELS, {"name": NAME, "value": Text((ITEM, IMAGE))})]},
        """\
        env:
        - name: A
          value: {{ .Values.image | quote }}
        {{- range $name, $value := .Values.labels }}
        - name: {{ $name | quote }}
          value: {{ printf "%v%v" $value $.Values.image | quote }}
        {{- end }}
        """,
    ),
    "let and merged": (
        Let(
            "role",
            Value("roles.ps", "map"),
            Let("all", Merged((MapOf({"a": "b"}), LABELS)), {"l": Bound("all", "map")}),
        ),
        """\
        {{- $role := .Values.roles.ps }}
        {{- $all := mergeOverwrite (dict "a" "b") .Values.labels }}
        l:
          {{- toYaml $all | nindent 2 }}
        """,
    ),
    "merged with what may come to nothing": (
        Let(
            "limits",
            Merged((MapOf({"cpu": CPU, "x": When(ENABLED, "y")}), LABELS)),
            {"a": 1, "l": Bound("limits", "map")},
        ),
        """\
        {{- $limits := dict }}
        {{- if .Values.resources.cpu }}
        {{- $_ := set $limits "cpu" (toString .Values.resources.cpu) }}
        {{- end }}
        {{- if .Values.gang.enabled }}
        {{- $_ := set $limits "x" "y" }}
        {{- end }}
        {{- $limits = mergeOverwrite $limits .Values.labels }}
        a: 1
        {{- with $limits }}
        l:
          {{- toYaml . | nindent 2 }}
        {{- end }}
        """,
    ),
    "layers under a condition": (
        Let(
            "all",
            Merged((MapOf({"a": "b"}), When(ENABLED, LABELS, MapOf({})), Value("env", "map"))),
            {"l": Bound("all", "map")},
        ),
        """\
        {{- $all := dict "a" "b" }}
        {{- if .Values.gang.enabled }}
        {{- $all = mergeOverwrite $all .Values.labels }}
        {{- end }}
        {{- $all = mergeOverwrite $all .Values.env }}
        l:
          {{- toYaml $all | nindent 2 }}
        """,
    ),
    "entries of several kinds are set one by one, or Go would merge a map with a text": (
        Let("env", Merged((LABELS, Value("env", "map")), flat=False), {"e": Bound("env", "map")}),
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
    "an entry of a layer is left out where what it says is empty": (
        Let(
            "all",
            Merged((MapOf({"a": "", "b": When(ENABLED, IMAGE), "c": if_set(IMAGE)}), LABELS)),
            {"l": Bound("all", "map")},
        ),
        """\
        {{- $all := dict }}
        {{- if and .Values.gang.enabled .Values.image }}
        {{- $_ := set $all "b" .Values.image }}
        {{- end }}
        {{- if .Values.image }}
        {{- $_ := set $all "c" .Values.image }}
        {{- end }}
        {{- $all = mergeOverwrite $all .Values.labels }}
        {{- with $all }}
        l:
          {{- toYaml . | nindent 2 }}
        {{- end }}
        """,
    ),
    "text that may be nothing, or none of plain YAML, in a part": (
        {
            "a": Text((NamedTemplate("hosts", "Hosts.", Repeat(REPLICAS, "h")),)),
            "b": Text((NamedTemplate("json", "JSON.", Text(("[", REPLICAS, "]"))),)),
            "c": Text((NamedTemplate("its", "Its.", Text(("it's: ", REPLICAS))),)),
        },
        """\
        a: '{{ include "mnist.hosts" . }}'
        b: '{{ include "mnist.json" . }}'
        c: {{ printf "%v" (include "mnist.its" .) | quote }}
        """,
    ),
    "a file of several lines": (
        {"data": {"a.py": File("files/a.py", "import os\n\nprint()\n"), "b": [File("files/b", "x\ny")]}},
        """\
        data:
          a.py: |
            {{- .Files.Get "files/a.py" | required "the chart has no files/a.py, or it is empty" | nindent 4 }}
          b:
          - |-
            {{- .Files.Get "files/b" | required "the chart has no files/b, or it is empty" | nindent 4 }}
        """,
    ),
    "a file that no literal block can have": (
        {"a": File("files/a", " x\n y\n"), "b": File("files/b", "")},
        """\
        a: {{ .Files.Get "files/a" | required "the chart has no files/a, or it is empty" | quote }}
        b: {{ .Files.Get "files/b" | quote }}
        """,
    ),
    "what a chart alone says": (
        {"a": ChartOnly("{{ .Release.Service }}", filled="tfgen")},
        """\
        a: {{ .Release.Service }}
        """,
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_template(name):
    node, expected = TEMPLATES[name]
    assert template_file(node, MNIST).splitlines() == dedent(expected).splitlines()


def test_an_object_under_a_condition_is_whole_or_not_there():
    assert template_file(When(ENABLED, {"kind": "A"}), MNIST).splitlines() == [
        "{{- if .Values.gang.enabled }}",
        "kind: A",
        "{{- end }}",
    ]


def test_the_objects_of_a_map_are_documents():
    assert template_file(ForEach(LABELS, When(ITEM, {"kind": NAME})), MNIST).splitlines() == [
        "{{- range $name, $value := .Values.labels }}",
        "{{- if $value }}",
        "---",
        "kind: {{ $name | quote }}",
        "{{- end }}",
        "{{- end }}",
    ]


def test_a_named_part_is_a_documented_helper_that_others_call():
    hosts = NamedTemplate("hosts", "The hosts.", Repeat(REPLICAS, Text(("h", Bound("i", "integer"), '{"'))))
    labels = NamedTemplate("labels", "The labels.", {"a": hosts, Splice("l"): LABELS})
    document = {"metadata": {"labels": labels}, "spec": {"a": hosts}}
    assert template_file(document, MNIST).splitlines() == [
        "metadata:",
        "  labels:",
        '    {{- include "mnist.labels" . | nindent 4 }}',
        "spec:",
        '  a: {{ include "mnist.hosts" . | quote }}',
    ]
    defines = [define(template, MNIST) for template in named_templates([document]).values()]
    assert helpers_file("What is in here.", defines).splitlines() == [
        "{{- /* What is in here. */}}",
        "",
        "{{/* The labels. */}}",
        '{{- define "mnist.labels" -}}',
        'a: {{ include "mnist.hosts" . | quote }}',
        "{{- with .Values.labels }}",
        "{{- toYaml . | nindent 0 }}",
        "{{- end }}",
        "{{- end }}",
        "",
        "{{/* The hosts. */}}",
        '{{- define "mnist.hosts" -}}',
        '{{- range $i := until (int .Values.roles.worker.replicas) }}{{ if $i }},{{ end }}h{{ $i | int64 }}{"{{ end }}',
        "{{- end }}",
    ]


ROLE, VALUES = Parameter("role"), Parameter("values", "map")
WORKER = {"role": "worker", "values": Value("roles.worker", "map")}


def test_a_part_with_parameters_is_called_with_a_dict():
    inner = {"role": ROLE, "image": Default(Parameter("values", "string", "image"), IMAGE)}
    labels = NamedTemplate("labels", "The labels.", inner, parameters=("role", "values"))
    outer = {"labels": call(labels, role=ROLE, values=VALUES), "hash": if_set(Parameter("hash"))}
    pod = NamedTemplate("pod", "The pod.", outer, parameters=("role", "values", "hash"))
    document = {"a": 1, "spec": call(pod, **WORKER, hash=Bound("hash")), "plain": call(pod, **WORKER, hash=None)}
    dict_ = '(dict "root" $ "role" "worker" "values" .Values.roles.worker'
    assert template_file(document, MNIST).splitlines() == [
        "a: 1",
        "spec:",
        f'  {{{{- include "mnist.pod" {dict_} "hash" $hash) | nindent 2 }}}}',
        "plain:",
        f'  {{{{- include "mnist.pod" {dict_}) | nindent 2 }}}}',
    ]
    assert define(pod, MNIST).splitlines() == [
        "{{/* The pod. Takes root, role, values, hash. */}}",
        '{{- define "mnist.pod" -}}',
        "labels:",
        '  {{- include "mnist.labels" . | nindent 2 }}',
        "{{- with .hash }}",
        "hash: {{ . | quote }}",
        "{{- end }}",
        "{{- end }}",
    ]
    assert define(labels, MNIST).splitlines() == [
        "{{/* The labels. Takes root, role, values. */}}",
        '{{- define "mnist.labels" -}}',
        "role: {{ .role | quote }}",
        "image: {{ .values.image | default .root.Values.image | quote }}",
        "{{- end }}",
    ]


def test_a_part_that_looks_at_its_arguments_alone_is_not_given_the_root():
    tolerations = [{"key": "spot"}, Items(Parameter("more", "list"))]
    template = NamedTemplate("tolerations", "Tolerations.", tolerations, parameters=("more",))
    assert template_file({"a": 1, "tolerations": call(template, more=ARGS)}, MNIST).splitlines() == [
        "a: 1",
        "tolerations:",
        '{{- include "mnist.tolerations" (dict "more" .Values.args) | nindent 0 }}',
    ]


def test_in_a_range_a_part_finds_its_arguments_at_the_dollar():
    body = {"name": NAME, "image": IMAGE, "role": ROLE}
    template = NamedTemplate("mounts", "Mounts.", [{"name": "tmp"}, ForEach(LABELS, body)], parameters=("role",))
    assert define(template, MNIST).splitlines()[2:-1] == [
        "- name: tmp",
        "{{- range $name, $value := .root.Values.labels }}",
        "- name: {{ $name | quote }}",
        "  image: {{ $.root.Values.image | quote }}",
        "  role: {{ $.role | quote }}",
        "{{- end }}",
    ]


def test_a_part_of_which_nothing_may_be_left_takes_its_key_with_it():
    template = NamedTemplate("scheduling", "Scheduling.", {"labels": LABELS})
    assert template_file({"a": {"b": 1, Splice("s"): template}, "c": {"d": template}}, MNIST).splitlines() == [
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


def test_a_part_begins_with_what_is_always_there():
    rest = {"a": if_set(IMAGE), WHY: None, "b": 1, "c": if_set(CPU)}
    template = NamedTemplate("rest", "The rest.", rest)
    assert define(template, MNIST).splitlines()[2:-1] == [
        "{{- /* Why. */}}",
        "b: 1",
        "{{- with .Values.image }}",
        "a: {{ . | quote }}",
        "{{- end }}",
        "{{- with .Values.resources.cpu }}",
        "c: {{ . | quote }}",
        "{{- end }}",
    ]


def test_a_part_of_which_all_may_be_left_out_brings_its_own_line_breaks():
    template = NamedTemplate("scheduling", "Scheduling.", {"labels": LABELS})
    assert template_file({"a": 1, Splice("s"): template, "b": 2}, MNIST).splitlines() == [
        "a: 1",
        '{{- include "mnist.scheduling" . }}',
        "b: 2",
    ]


def test_a_part_of_which_one_branch_is_there_begins_with_it():
    size = When(LABELS, {"labels": NotEmpty(LABELS)}, When(IMAGE, {"image": IMAGE}, {"none": {}}))
    assert define(NamedTemplate("size", "Size.", size), MNIST).splitlines()[1:] == [
        '{{- define "mnist.size" -}}',
        "{{- if .Values.labels -}}",
        "labels:",
        "  {{- toYaml .Values.labels | nindent 2 }}",
        "{{- else if .Values.image -}}",
        "image: {{ .Values.image | quote }}",
        "{{- else -}}",
        "none: {}",
        "{{- end }}",
        "{{- end }}",
    ]


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two templates are named a"):
        named_templates([NamedTemplate("a", "A.", "1"), NamedTemplate("a", "A.", "2")])


def test_a_comment_says_why_and_is_nothing_of_the_object():
    node = {"a": 1, Comment("All at once: an ordered start under a gang is a deadlock."): None, "b": {"c": IMAGE}}
    assert template_file(node, MNIST).splitlines() == [
        "a: 1",
        "{{- /* All at once: an ordered start under a gang is a deadlock. */}}",
        "b:",
        "  c: {{ .Values.image | quote }}",
    ]


def test_items_of_a_list_join_the_others():
    assert template_file({"a": [{"name": "x"}, Items(ARGS)]}, MNIST).splitlines() == [
        "a:",
        "- name: x",
        "{{- with .Values.args }}",
        "{{- toYaml . | nindent 0 }}",
        "{{- end }}",
    ]


def test_white_space_beside_what_trims_stays():
    template = NamedTemplate("hosts", "Hosts.", Text((" to ", Repeat(REPLICAS, "h"), " \n")))
    assert define(template, MNIST).splitlines()[2] == (
        '{{ " " }}to {{ range $i := until (int .Values.roles.worker.replicas) }}'
        '{{ if $i }},{{ end }}h{{ end }}{{ " \\n" }}'
    )


def test_a_guard_fails_with_its_message():
    guard = Guard("too-many", "roles", Greater(REPLICAS, 3), sentence('there are {} "workers"', REPLICAS))
    assert guards_file([guard], (), MNIST) == (
        "{{- /* Checks that values.schema.json cannot express. */}}\n"
        "{{- if gt (int64 .Values.roles.worker.replicas) 3 }}\n"
        '{{- fail (printf `there are %d "workers"` (int64 .Values.roles.worker.replicas)) }}\n'
        "{{- end }}\n"
    )


def test_guards_that_look_at_the_same_entries_share_the_range():
    labels, items = CheckedMap(LABELS, "name", "value"), CheckedMap(ITEM, "key", "item")
    guards = [
        Guard("one", "labels", Equal(NAME, "a"), "a", over=(labels,)),
        Guard("two", "labels", Equal(Bound("key"), IMAGE), Text((NAME,)), over=(labels, items)),
        Guard("three", "image", IMAGE, "b"),
    ]
    assert guards_file(guards, (), MNIST).splitlines()[1:] == [
        "{{- range $name, $value := .Values.labels }}",
        '{{- if eq $name "a" }}',
        '{{- fail "a" }}',
        "{{- end }}",
        "{{- range $key, $item := $value }}",
        "{{- if eq $key $.Values.image }}",
        '{{- fail (printf "%v" $name) }}',
        "{{- end }}",
        "{{- end }}",
        "{{- end }}",
        "{{- if .Values.image }}",
        '{{- fail "b" }}',
        "{{- end }}",
    ]


OPTIONS = {"options": Value("labels", "map")}


@pytest.mark.parametrize(
    ("node", "ends"),
    [
        ({"a": OPTIONS}, True),
        ({"a": [{"b": 1, **OPTIONS}]}, True),
        ({**OPTIONS, "b": When(IMAGE, 1)}, True),
        ({**OPTIONS, "b": [ForEach(LABELS, NAME)]}, True),
        ({"a": NamedTemplate("pod", "The pod.", OPTIONS)}, True),
        ({"a": When(IMAGE, 1, OPTIONS)}, True),
        ({**OPTIONS, "b": 1}, False),
        ({"a": IMAGE}, False),
        ({"a": "text\n\n"}, False),
    ],
)
def test_an_object_whose_last_text_may_end_in_empty_lines_ends_with_its_kind(node, ends):
    """Helm trims white space from the end of an object."""
    printed = template_file({"kind": "Any", **node}, MNIST).splitlines()
    assert (printed[-1] == "kind: Any", printed[0] == "kind: Any") == (ends, not ends)


def test_a_guard_names_what_it_counts():
    few = Filtered(LABELS, Equal(ITEM, "few"))
    guard = Guard("none", "labels", Not(Bound("few", "map")), "none", let=(("few", few),))
    assert guards_file([guard], (), MNIST).splitlines()[1:] == [
        "{{- $few := dict }}",
        "{{- range $name, $value := .Values.labels }}",
        '{{- if eq $value "few" }}',
        "{{- $_ := set $few $name $value }}",
        "{{- end }}",
        "{{- end }}",
        "{{- if not $few }}",
        '{{- fail "none" }}',
        "{{- end }}",
    ]


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ({"a": [{"b": if_set(IMAGE)}, 1]}, "the first entry of a list item must always be present"),
        (
            {"a": {"b": [ForEach(LABELS, When(ITEM, NAME))]}},
            "the presence of a ForEach cannot be tested, because its body may be empty",
        ),
        ("text", "not a mapping or sequence"),
        (
            Let("l", Merged((MapOf({"a": When(IMAGE, "b", "c")}), LABELS)), {"a": 1}),
            "an entry of a merged map must not have a second branch",
        ),
        (
            Let("l", Merged((LABELS, MapOf({"a": IMAGE}))), {"a": 1}),
            "an entry of this map must not depend on values of the chart",
        ),
    ],
)
def test_what_cannot_be_printed_is_refused(node, says):
    with pytest.raises(TypeError, match=says):
        template_file(node, MNIST)
