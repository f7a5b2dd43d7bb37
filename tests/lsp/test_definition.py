"""Tests of the lines that set or enforce a value."""

from __future__ import annotations

import pytest

from tests.lsp.conftest import Open, Opened
from tfgen.lsp.definition import set_or_enforced

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1.4.0
  port: 2000
  strategy: MultiWorkerMirrored
  roles:
    worker: {replicas: 4, labels: {a: b}}
  gang: {scheduler: volcano, minAvailable: 2}
  args: [a]
  environments:
    dev: {gang: {minAvailable: 1}}
"""
DEFAULTS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
registry: ml.example.org
enforce: [registry, spec.port, {path: spec.gang, except: [minAvailable, scheduler]}, spec.labels]
spec:
  port: 2000
  gang: {queue: research, minAvailable: 1}
  labels: {a: b}
"""
PORT, GANG = ("tfgen.yaml", 4, 21), ("tfgen.yaml", 4, 32)


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("port: 2000", "po|rt: 2000", [("tfgen.yaml", 6, 3), PORT]),
        ("port: 2000", "port: 2|000", [("tfgen.yaml", 6, 3), PORT]),
        ("gang: {s", "ga|ng: {s", [("tfgen.yaml", 7, 3), GANG]),
        ("volcano, minA", "volcano, mi|nA", [("tfgen.yaml", 7, 27)]),
        ("{gang: {minA", "{gang: {mi|nA", [("job.yaml", 10, 30), ("tfgen.yaml", 7, 27)]),
        ("labels: {a: b", "labels: {a: |b", [("tfgen.yaml", 4, 86)]),
        ("mnist:1.4.0", "mni|st:1.4.0", [("tfgen.yaml", 3, 11), ("tfgen.yaml", 4, 11)]),
        ("mnist:1.4.0", "ml.example.org/mni|st:1.4.0", [("tfgen.yaml", 4, 11)]),
        ("args: [a", "args: [|a", []),
        ("replicas", "repli|cas", []),
        ("spec:", "sp|ec:", []),
    ],
)
def test_the_lines_are_found(old: str, new: str, places: list[tuple[str, int, int]], open_file: Open) -> None:
    assert definition(open_file(JOB.replace(old, new, 1), DEFAULTS)) == places


def test_a_value_of_the_defaults_leads_to_the_defaults_above(open_file: Open) -> None:
    nearer = "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {port: 20|00}\n"
    assert definition(open_file(nearer, DEFAULTS, "jobs/tfgen.yaml")) == [("tfgen.yaml", 6, 3), PORT]


def definition(opened: Opened) -> list[tuple[str, int, int]]:
    assert opened.cursor is not None
    document = opened.analysis.accepted_at(opened.cursor.root)
    assert document is not None
    return [(file, *place) for file, place in set_or_enforced(document, opened.cursor.path)]
