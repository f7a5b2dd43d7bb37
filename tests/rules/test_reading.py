"""Tests that a rule runs again only if an environment changes a value that the rule reads, and misses no problem."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.rules.finding import Finding
from tfgen.rules.reading import Reading, TrackedValues
from tfgen.rules.table import RULES
from tfgen.rules.view import View, find_in_variants, views
from tfgen.schema import tunables, validate
from tfgen.schema.value_paths import differences
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.text.yaml_text import dump

CASES = sorted([*(ROOT / "tests" / "invalid").glob("*.yaml"), *ROOT.glob("tests/golden/*/job.yaml")])
VALUES = {"run": "", "roles": {"worker": {"replicas": 4, "env": {"A": "1"}}}, "gang": {"queue": ""}}


def test_a_look_at_a_value_is_noted() -> None:
    reading = Reading()
    values = TrackedValues(VALUES, reading)
    assert values["roles"]["worker"]["env"] == {"A": "1"}
    assert values.get("gang", {}).get("topology", "none") == "none"
    assert "tensorboard" not in values
    assert reading.paths == {("roles", "worker", "env"), ("gang", "topology"), ("tensorboard",)}


def test_a_look_at_all_keys_of_a_record_is_a_look_at_all_of_it() -> None:
    reading = Reading()
    assert [*TrackedValues(VALUES, reading)["roles"]] == ["worker"]
    assert reading.paths == {("roles",)}


def test_what_differs_is_the_value_and_the_records_around_it() -> None:
    other = {**VALUES, "roles": {"worker": {"replicas": 3, "env": VALUES["roles"]["worker"]["env"]}}, "environment": ""}
    around = {(), ("roles",), ("roles", "worker")}
    assert {*differences(VALUES, other)} == {*around, ("roles", "worker", "replicas"), ("environment",)}


def test_a_rule_runs_again_only_for_what_differs_in_what_it_reads() -> None:
    runs = []

    def check(view: View) -> Iterator[Finding]:
        runs.append(view)
        yield Finding(("run",), f"{view.values['roles']['worker']['replicas']} workers")

    job = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {replicas: 4}}
  environments: {dev: {roles: {worker: {replicas: 1}}}, prod: {image: mnist:2}}
"""
    forms = views(parse(job, "job.yaml").documents[0])
    messages = [finding.message for _, finding in find_in_variants(check, forms)]
    assert messages == ["4 workers", "1 workers", "4 workers"]
    assert runs == [forms[0], forms[1]]


@pytest.mark.long
def test_every_rule_finds_in_environments_what_it_finds_in_each_by_itself() -> None:
    """The golden job `everything` has environments with the keys of all other jobs of the tests, with all mistakes."""
    only_in_environments = set()
    for document in (_with_environments_of(CASES), *_jobs_with_environments()):
        forms, alone = views(document), views(document)
        numbers = {id(form): number for number, form in enumerate(forms)}
        for rule in RULES:
            findings = [(numbers[id(form)], finding) for form, finding in find_in_variants(rule.check, forms)]
            expected = [(number, finding) for number, form in enumerate(alone) for finding in rule.check(form)]
            assert findings == expected, rule.id
            of_job = {finding for number, finding in expected if number == 0}
            if {finding for _, finding in expected} - of_job:
                only_in_environments.add(rule.id)
    assert len(only_in_environments) > 50


def _jobs_with_environments() -> Iterator[Document]:
    return (document for case in CASES for document in _jobs(case) if "environments" in document.data["spec"])


def _jobs(case: Path) -> Iterator[Document]:
    for document in parse(case.read_text(encoding="utf-8"), "job.yaml").documents:
        if isinstance(document.data, dict) and not validate.check(document):
            yield document


def _with_environments_of(cases: Sequence[Path]) -> Document:
    """Return a job with one environment for each tunable key of the given jobs."""
    specs = [tunables.without_environments(job.data["spec"]) for case in cases for job in _jobs(case)]
    parts: list[Mapping[str, Any]] = [{key: spec[key]} for spec in specs for key in spec if key != "roles"]
    parts += [{"roles": {role: spec["roles"][role]}} for spec in specs for role in spec["roles"]]
    distinct = {repr(part): part for part in parts}.values()
    environments = {f"e-{number}": part for number, part in enumerate(distinct) if _is_accepted(part)}
    return parse(dump(_with(environments)), "job.yaml").documents[0]


def _is_accepted(environment: Mapping[str, Any]) -> bool:
    base = _base()
    merged = {**base, "spec": tunables.merge(base["spec"], environment)}
    return not (
        validate.schema_errors(_with({"e": environment}))
        or tunables.missing_sections(base["spec"], environment)
        or validate.schema_errors(merged)
    )


def _with(environments: Mapping[str, Any]) -> Mapping[str, Any]:
    base = _base()
    return {**base, "spec": {**base["spec"], "environments": environments}}


@functools.cache
def _base() -> Mapping[str, Any]:
    text = (ROOT / "tests" / "golden" / "everything" / "job.yaml").read_text(encoding="utf-8")
    data = parse(text, "job.yaml").documents[0].data
    return {**data, "spec": tunables.without_environments(data["spec"])}
