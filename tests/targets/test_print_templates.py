"""Long lines of templates: the lines break only inside actions, and print the same text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.small_job import JOB
from tests.support.tools import ROOT
from tfgen.graph.holes import Guard, Matches, NamedTemplate
from tfgen.graph.naming import value
from tfgen.job.training_job import TrainingJob
from tfgen.targets.chart import print_templates
from tfgen.targets.chart.print_templates import _cached_broken, wrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("short {{ .Values.image }}", "short {{ .Values.image }}"),
        (
            "  {{- if and (gt (int64 .Values.a) (int64 .Values.b)) (eq .Values.c .Values.d) }}",
            "  {{- if and (gt (int64 .Values.a) (int64 .Values.b))\n      (eq .Values.c .Values.d) }}",
        ),
        ("plain text that is longer than sixty characters, and has no action", None),
        ('{{ "{{" }} a long text of a user, with braces and "quotes\u201d in it {{ .a }}', None),
        ("{{- /* a comment is left alone, however long it is, since it is text */}}", None),
    ],
)
def test_line_breaks_at_the_least_deep_blank_of_an_action(text, expected):
    wrapped = wrap(text, width=60)
    if expected is not None:
        assert wrapped == expected
    elif "{{ .a }}" in text:
        assert wrapped.replace("\n    ", " ") == text
    else:
        assert wrapped == text


def test_long_text_becomes_several():
    sentence = "word " * 30 + "end"
    wrapped = wrap(f'{{{{- fail (printf "{sentence}" .Values.a) }}}}')
    assert max(map(len, wrapped.splitlines())) <= 120
    assert wrapped.startswith('{{- fail (printf (print "word ')
    assert "".join(wrapped.split('"')[1::2]) == sentence


def test_long_texts_of_a_job_are_not_cached():
    before = _cached_broken.cache_info().currsize
    for number in range(3):
        wrap(f'{{{{- fail (printf "{number} {"word " * 1_000}" .Values.a) }}}}')
    assert _cached_broken.cache_info().currsize == before


def test_a_chart_defines_the_named_templates_of_its_guards(monkeypatch):
    name = NamedTemplate("only-of-a-guard", "A name that no object has.", value("run"))
    guard = Guard("reserved-name", "run", when=Matches(name, "^none$"), say="the name is reserved")
    monkeypatch.setattr(print_templates, "guards", lambda _: [guard])
    structure = TrainingJob.from_document(yaml.safe_load(JOB)).structure
    templates, _ = print_templates._printed.__wrapped__(structure)
    assert re.search(r'include "\S+\.only-of-a-guard"', templates["templates/guards.yaml"])
    assert re.search(r'define "\S+\.only-of-a-guard"', templates["templates/_helpers.tpl"])


CHARTS = sorted((ROOT / "charts").glob("*"))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_no_line_of_a_chart_is_long(chart: Path):
    """Patterns and descriptions in values.schema.json are exceptions, because a JSON string cannot break."""
    files = [path for path in chart.rglob("*") if path.is_file()]
    long = [
        f"{path.relative_to(chart)}:{number}: {line}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 160 and not re.search(r'"(pattern|patternProperties|description)": |^ *"\^', line)
    ]
    assert long == []
