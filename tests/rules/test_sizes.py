"""Tests of the size limits of Linux, Kubernetes and etcd, to the byte."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from itertools import pairwise

import pytest

from tests.support.problems import all_problems
from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.graph.graph import build
from tfgen.kubernetes.object import PROGRAM_MAX, STRING_COST, STRING_MAX
from tfgen.report.problems import as_text

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {}}
"""


def rules(spec: str) -> list[str]:
    return [problem.rule for problem in all_problems(JOB + spec)]


@pytest.mark.parametrize(
    ("spec", "is_too_large"),
    [
        (f"  args: [{'x' * 131_071}]\n", False),
        (f"  args: [{'é' * 65_535}x]\n", False),
        (f"  args: [{'é' * 65_536}]\n", True),
        (f"  command: [{'é' * 65_536}]\n", True),
        (f"  env: {{LONG: {'x' * (131_071 - len('LONG='))}}}\n", False),
        (f"  env: {{LONG: {'x' * (131_072 - len('LONG='))}}}\n", True),
        (f"  env: {{A: {'x' * 65_535}, B: $(A)$(A)}}\n", True),
        (f"  env: {{A: {'x' * 65_535}, B: $(A)$$(A)}}\n", False),
        (f"  env: {{A: {'x' * 65_535}, B: $$$(A)$(A)}}\n", True),
        (f"  env: {{A: {{secretKeyRef: {{name: a, key: a}}}}, B: {'$(A)' * 30_000}}}\n", False),
        ("  env: {A0: xxxxxxxxxx, " + ", ".join(f"A{i + 1}: $(A{i})$(A{i})" for i in range(9)) + "}\n", False),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else value,
)
def test_one_argument_or_variable(spec: str, is_too_large: bool) -> None:
    assert ("program-size" in rules(spec)) == is_too_large


def test_variables_that_double_each_other_are_counted_without_being_written() -> None:
    """The last variable would have 4 to the power of 25 copies of TFGEN_RUN_FOLDER, which precedes the others."""
    names = [f"A{chr(ord('a') + i)}" for i in range(26)]
    doubling = ", ".join(f"{name}: $({before})$({before})$({before})$({before})" for before, name in pairwise(names))
    assert "program-size" in rules(f"  env: {{{names[0]}: $(TFGEN_RUN_FOLDER), {doubling}}}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")
@pytest.mark.parametrize(("beyond", "starts"), [(0, True), (1, False)])
def test_linux_draws_the_line_at_a_string_there(beyond: int, starts: bool) -> None:
    assert _starts("x" * (STRING_MAX + beyond)) == starts


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")
def test_linux_draws_the_line_at_a_program_there() -> None:
    """The test is exact to one page, because Linux also counts the name of the file."""
    one = 100_000 + STRING_COST
    most = PROGRAM_MAX // one
    rest = PROGRAM_MAX - most * one
    assert _starts(*["x" * 100_000] * most, "x" * (rest - 4096))
    assert not _starts(*["x" * 100_000] * most, "x" * rest)


def _starts(*arguments: str) -> bool:
    """Test whether Linux starts a program with some arguments and no variables, with a stack of 8 MiB."""

    def as_in_a_container() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))

    try:
        subprocess.run(["/bin/true", *arguments], env={}, check=True, preexec_fn=as_in_a_container)
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        return False
    return True


@pytest.mark.parametrize(
    ("variables", "problems"),
    [
        (400, []),
        (
            450,
            [
                "job.yaml:7:3: Job mnist-chief",
                "job.yaml:7:3: StatefulSet mnist-ps",
                "job.yaml:7:3: StatefulSet mnist-worker",
            ],
        ),
    ],
)
def test_an_object_of_more_than_etcd_keeps(variables: int, problems: list[str]) -> None:
    """The file has the text once, but the objects have one copy for each variable. The problem is at the key `env`."""
    names = [f"    A{i:03}: *text\n" for i in range(1, variables)]
    text = f"{JOB}  env:\n    A000: &text {'x' * 3_500}\n{''.join(names)}"
    checked = check(text, "job.yaml")
    assert as_text(checked.problems) == ""
    (document,) = checked.documents
    found = check_objects(document, build(document.data), ObjectSchemas())
    assert [str(problem).partition(": the object has ")[0] for problem in found] == problems
    assert all(
        "etcd stores at most 1,572,864" in problem.message and problem.rule == "object-size" for problem in found
    )
