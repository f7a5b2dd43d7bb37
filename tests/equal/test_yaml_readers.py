"""Tests that Helm, kustomize, and Helm after kustomize read the text of yaml_text as written.

Each tool reads all strings at once, each string as a key and as a value. Helm represents every reader that uses Go's
sigs.k8s.io/yaml (kubectl, Flux, Argo CD). A cluster reads kustomize's output, and so does Helm in these tests.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import CommandError
from tests.support.tools import helm_template, kustomize_build
from tfgen.data_path import MAX_INTEGER
from tfgen.text.parse import parse
from tfgen.text.yaml_text import dump, find_forbidden_character, scalar

if TYPE_CHECKING:
    from pathlib import Path

# fmt: off
STRINGS = [
    # blanks
    "", " ", "  ", "a ", " a", "\t", "a\tb", "\ta", "a\t", "\u00a0", "\u00a0a\u00a0", "\u3000", "\u200b",
    # null, booleans, merge keys and other words
    "~", "null", "Null", "NULL", "nULL", "true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "nil", "None",
    "y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "oN", "yy",
    "<<", "=", ".", "..", "...", "-", "--", "---", "--- a", "... a", "---a", "?", "? x", "?x", ":", ": x", ":x", "::",
    # numbers
    "0", "1", "-1", "+1", "-0", "00", "07", "08", "017", "0777", "0o17", "0O17", "0o8", "-0o17", "+0o7", "0b1", "-0b1",
    "0x1f", "0X1F", "-0x1f", "0x", "0xg", "1_000", "_1", "1_", "-_1", "._1", "0x_1f", "1,000", "1e3", "1E3", "1e", "e1",
    "1e+3", "1e-05", "1234e56", "12e03", "0e0", "1.5e3", "1.", ".5", "-.5", "+.5", ".5e3", "1.10", "1.0", "1.2.3", "._",
    ".inf", ".Inf", "-.INF", "+.inf", ".nan", ".NaN", ".NAN", "inf", "nan", "Infinity", "1e400", "9" * 30, "1" * 300,
    str(2**53 - 1),
    # dates, times, base 60
    "2026-01-01", "2026-1-1", "2026-01-01T00:00:00Z", "2026-01-01 10:00:00", "2001-12-14t21:59:43.10-05:00",
    "12:30", "12:30:45", "1:2", "190:20:30", "190:20:30.15", "-1:30", "20:30:",
    # syntax
    "a: b", "a:b", "a:", "a :b", "a #b", "a#b", "#c", "- a", "-a", "-\ta", "--flag", "[a]", "[", "]", "{a}", "{", "}",
    ",", "a,b", "!x", "!!str", "!", "&a", "&", "*a", "*", "|", "|-", ">", "%", "%YAML 1.2", "@", "`", "`a`", "\\n",
    "\\", "'", "''", '"', '""', "it's", "'a'", '"a"', 'a "b" c', "a 'b' c", "\\\"'", "C:\\new", '{"it\'s":[1, 2]}',
    "{{ x }}", "{{ .Values.x }}", "{{- x -}}", "$(X)", "$$(X)", "${X}", "$X", "a: {{ x }}", "# Source: x", "%s", "a=b",
    "http://a:80/b?c=d&e#f", "reg:5000/a/b:1.2@sha256:0123", "8Gi", "500m", "1Ki", "10.0.0.0/8", "::1", "<a>&amp;",
    '{"a":1}',
    # beyond ASCII, and long
    "é", "日本語", "😀", "😀: 😀", "e\u0301", "\U0010fffd", "\ud7ff\ue000", "word " * 60 + "end", "x" * 300, "é" * 300,
    # several lines
    "a\n", "a\nb", "a\nb\n", "a\n\n", "a\n\n\n", "\n", "\n\n", "\na", "\n\na\n", "a\n\nb\n", "a\n b\n", " a\nb\n",
    "a\n\tb\n", "a\n\t\n", "a \nb\n", "a\t\nb\n", "a\n ", "a\n  \nb\n", "#!/bin/sh\n# x\n", "- a\n- b\n", "a: b\nc\n",
    "a\n---\nb\n", "---\na\n", "...\n", "a\n...\n", "{{ x }}\ny\n", "'a'\n\"b\"\n\\c\n", "a\n😀 é\n", "| a\n",
    "\ta\nb\n", "%a\n%b\n",
    "line of a script that is as long as such lines are, with many words in it and more to come\n" * 4,
]
# fmt: on
"""Strings that some YAML reader misreads in some style."""

VALUES: dict[str, Any] = {
    "strings": {f"s{index}": text for index, text in enumerate(STRINGS)},
    "keys": {text: index for index, text in enumerate(STRINGS) if text != "<<"},
    "lists": [STRINGS, [STRINGS, []], [{"a": text, "b": [text]} for text in STRINGS]],
    "others": {"none": None, "true": True, "false": False, "map": {}, "list": [], "maps": [{}, [{}], {"a": {}}]},
    "integers": [0, -1, 10**6, 2**31, MAX_INTEGER, -MAX_INTEGER],
    "floats": [0.5, -0.5, 1.0, 1e-05, 1.5e-7, 123456.789, 1e16, 1e21, 1.5e300, 5e-324],
}

TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: probes}
data:
  values: {{ .Values.probes | toJson | toJson }}
  built: {{ .Files.Get "built.yaml" | fromYaml | toJson | toJson }}
  scalars: {{ .Files.Get "scalars.yaml" | fromYaml | toJson | toJson }}
"""
"""A template whose data is JSON in a JSON string: YAML on one line for all probes."""


ANNOTATIONS = {f"a{index}": text for index, text in enumerate(STRINGS) if text != "\ta\nb\n"}
DATA = {**VALUES["strings"], **{f"k{text}": "x" for text in STRINGS}}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a ConfigMap as kustomize prints it."""
    return kustomize(tmp_path_factory.mktemp("kustomize"), {"annotations": ANNOTATIONS}, data=DATA, values=VALUES)


@pytest.fixture(scope="module")
def read(built: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the data that Helm reads from a values file, from kustomize's output, and from hand-written scalars."""
    chart = tmp_path_factory.mktemp("chart")
    write(
        chart,
        {
            "Chart.yaml": dump({"apiVersion": "v2", "name": "probes", "version": "0.1.0"}),
            "templates/probes.yaml": TEMPLATE,
            "probes-values.yaml": dump({"probes": VALUES}),
            "built.yaml": built,
            "scalars.yaml": "".join(f"{scalar(text)}: {scalar(text)}\n" for text in STRINGS),
        },
    )
    output = helm_template(chart, "probes", "--skip-tests", "--values", str(chart / "probes-values.yaml"))
    (document,) = parse(output, "helm").documents
    return {name: json.loads(text) for name, text in document.data["data"].items()}


def kustomize(folder: Path, metadata: dict[str, Any], **parts: Any) -> str:
    probes = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probes", **metadata}, **parts}
    write(folder, {"probes.yaml": dump(probes), "kustomization.yaml": dump({"resources": ["probes.yaml"]})})
    return kustomize_build(folder)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def test_strings_are_many_and_allowed() -> None:
    assert len(set(STRINGS)) == len(STRINGS) >= 200
    assert not any(find_forbidden_character(text) for text in STRINGS)


@pytest.mark.parametrize("part", VALUES)
def test_helm_reads_values(read: dict[str, Any], part: str) -> None:
    assert read["values"][part] == VALUES[part]


def test_helm_reads_single_scalars(read: dict[str, Any]) -> None:
    assert read["scalars"] == {text: text for text in STRINGS}


@pytest.mark.parametrize("part", VALUES)
def test_cluster_reads_values_from_kustomize(read: dict[str, Any], part: str) -> None:
    assert read["built"]["values"][part] == VALUES[part]


def test_cluster_reads_annotations_and_data(read: dict[str, Any]) -> None:
    assert read["built"]["metadata"]["annotations"] == ANNOTATIONS
    assert read["built"]["data"] == DATA


@pytest.mark.parametrize("annotation", [("1.0", "x"), ("true", "x"), ("2026-01-01", "x"), ("a", "\ta\nb\n")])
def test_kustomize_refuses_annotations(annotation: tuple[str, str], tmp_path: Path) -> None:
    """The job schema must refuse annotations whose keys kustomize writes without quotes."""
    with pytest.raises(CommandError):
        kustomize(tmp_path, {"annotations": dict([annotation])})
