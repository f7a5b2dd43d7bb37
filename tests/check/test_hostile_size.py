"""Tests that tfgen checks a job file of one megabyte in time, or refuses the file because of its size."""

from __future__ import annotations

import time

import pytest

from tfgen.check.jobs import check
from tfgen.text.parse import MAX_BYTES

pytestmark = pytest.mark.long

LONGEST = 10
"""Seconds of CPU time of this process. A check takes 2 s on an idle machine, and up to five times as long on shared
cores. A check with a quadratic cost takes minutes."""

ROOM = 1_000
"""Bytes for the remainder of the file."""


def job(spec: str, name: str = "mnist", worker: str = "") -> str:
    return f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  image: registry.example.com/ml/mnist:1
  roles: {{chief: {{}}, ps: {{}}, worker: {{{worker}}}}}
{spec}"""


def braces(*entries: str) -> str:
    return f"{{{', '.join(entries)}}}"


def environments(count: int, environment: str = "{}") -> str:
    return "  environments:\n" + "".join(f"    e{i}: {environment}\n" for i in range(count))


SHAPES = {
    "open references": job(f"  env: {{A: '{'$(' * 60_000}'}}\n"),
    "closed references": job(f"  env: {{A: '{'$(A)' * 30_000}'}}\n"),
    "variables with references": job(
        f"  env: {braces(*(f'A{i}: $(A{i + 1})' for i in range(700)))}\n{environments(50)}"
    ),
    "open references in arguments": job(f"  args: ['{'$(' * 500_000}']\n"),
    "one key": job("  port: 1\n" * 90_000),
    "keys twice": job("".join(f"  a{i % 45_000}: 1\n" for i in range(90_000))),
    "unknown keys": job("".join(f"  imag{i}: x\n" for i in range(45_000))),
    "unknown fields": job(f"  podTemplate: {{spec: {braces(*(f'c{i}: 1' for i in range(45_000)))}}}\n"),
    "hosts too long": job(environments(50), name="a" * 38, worker="replicas: 10000"),
    "hosts": job(environments(50), worker="replicas: 3000"),
    "volumes": job(f"  storage: {braces(*(f'v{i}: {{mountPath: /v{i}, emptyDir: {{}}}}' for i in range(9_000)))}\n"),
    "documents": "---\n".join(job("", name=f"a{i}") for i in range(6_000)),
    "environments": job(environments(80_000)),
    "variables in environments": job(
        f"  env: &e {braces(*(f'A{i}: x' for i in range(1_800)))}\n{environments(50, '{env: *e}')}"
    ),
    "containers": job(f"  initContainers: [{', '.join(f'{{name: c{i}, image: x}}' for i in range(30_000))}]\n"),
    "arguments": job(f"  args: [{'a, ' * 98_000}]\n"),
    "labels": job(f"  labels: {braces(*(f'c{i}: a' for i in range(80_000)))}\n"),
    "long text": job(f"  env: {{A: '{'x' * (MAX_BYTES - ROOM)}'}}\n"),
    "lines": job(f'  args: ["{chr(92) + "n" * (MAX_BYTES // 2 - ROOM)}"]\n'),
    "deep": job(
        f"  podTemplate: {{spec: {braces(*(f'k{i}: ' + '{a: ' * 90 + '1' + '}' * 90 for i in range(1_000)))}}}\n"
    ),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SHAPES.items()])
def test_a_hostile_job_is_checked_in_time(text: str) -> None:
    start = time.process_time()
    checked = check(text.encode(), "job.yaml")
    assert time.process_time() - start < LONGEST
    assert len(checked.problems) < 1_000
