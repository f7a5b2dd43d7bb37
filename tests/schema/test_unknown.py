"""Tests of `data_path.UNKNOWN`: one round of checks reports all mistakes that do not depend on each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.problems import all_problems
from tfgen import data_path
from tfgen.data_path import UNKNOWN, UnknownValueError, is_unknown, known_part, mark, until_unknown
from tfgen.schema.messages import RULES as SCHEMA_RULES
from tfgen.text.parse import parse

CASES = Path(__file__).parents[1] / "invalid"
NINE = (CASES / "nine-mistakes.yaml").read_text(encoding="utf-8")
CORRECTED = (
    ("retires", "retries"),
    ("two", "2"),
    ("$(MODEL)", "/data/model"),
    (", evaluator]", ", chief, ps]"),
    ("{replcas: 1}", "{}"),
    ("[2]", "second"),
    ("8 GB", "8Gi"),
    (":latest", ":1.5.0"),
    ("{roles: {evaluator: {image: registry.ml.internal/ml/mnist:1.4.0}}}", "{}"),
)


def test_one_round_reports_nine_mistakes_of_different_kinds() -> None:
    """The file nine-mistakes.out has one line for each mistake, and the corrected file has no other mistake."""
    text = NINE
    problems = all_problems(text)
    assert len({problem.rule for problem in problems}) == 7
    assert len(problems) == len(CORRECTED)
    for wrong, correct in CORRECTED:
        assert text.count(wrong) == 1
        text = text.replace(wrong, correct)
    assert all_problems(text) == ()


@pytest.mark.parametrize("number", range(len(CORRECTED)))
def test_a_mistake_hides_no_other_mistake_and_causes_none(number: int) -> None:
    wrong, correct = CORRECTED[number]
    before, after = all_problems(NINE), all_problems(NINE.replace(wrong, correct))
    assert {problem.message for problem in after} < {problem.message for problem in before}
    assert len(after) == len(before) - 1


@pytest.mark.parametrize("case", ["ten-mistakes", "gang-in-one-environment", "claim-single-pod", "unknown-variable"])
@pytest.mark.parametrize("wrong", [[1.5], None, "no such value!"], ids=repr)
def test_a_refused_value_causes_no_problem_of_a_rule(case: str, wrong: Any) -> None:
    """The rules find only mistakes that they also find in the whole job, whichever value the schema refuses."""
    (document,) = parse((CASES / f"{case}.yaml").read_text(encoding="utf-8"), "job.yaml").documents
    whole = of_rules(document.data)[0]
    count = 0
    for path in paths(document.data["spec"], ("spec",)):
        found, is_refused = of_rules(data_path.with_value(document.data, path, wrong))
        if is_refused:
            count += 1
            assert found <= whole, path
    assert count > 5


def of_rules(data: Any) -> tuple[set[tuple[str, str]], bool]:
    """Return the problems of rules, without the names of environments, and whether the schema refuses the job."""
    problems = all_problems(json.dumps(data))
    of_schema = [problem for problem in problems if problem.rule in SCHEMA_RULES]
    found = {(p.rule, p.message.partition(" (in ")[0]) for p in problems if p.rule not in SCHEMA_RULES}
    return found, bool(of_schema)


def paths(data: Any, path: data_path.Path) -> Iterator[data_path.Path]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in items:
        yield (*path, step)
        yield from paths(value, (*path, step))


@pytest.mark.parametrize(
    ("mistakes", "expected"),
    [
        ("gang: volcano", {"wrong-type"}),  # the environment sets gang.queue, which is no mistake of its own
        ("gangs: {scheduler: volcano}", {"unknown-key"}),
        ("gang: {scheduler: volcano, mystery: 1}", {"unknown-key"}),
    ],
)
def test_an_environment_over_a_refused_part_of_the_job_has_no_problem(mistakes: str, expected: set[str]) -> None:
    job = f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.ml.internal/ml/mnist:1.4.0
  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}
  {mistakes}
  environments:
    dev: {{gang: {{queue: research}}}}
"""
    assert {problem.rule for problem in all_problems(job)} == expected


def test_each_use_of_an_unknown_value_raises() -> None:
    uses = (
        lambda: bool(UNKNOWN),
        lambda: UNKNOWN == 1,
        lambda: UNKNOWN > 1,
        lambda: isinstance(UNKNOWN, dict),
        lambda: f"{UNKNOWN}",
        lambda: {UNKNOWN: 1},
        lambda: UNKNOWN.get("key"),
        lambda: [*UNKNOWN],
        lambda: 1 in UNKNOWN,
        lambda: len(UNKNOWN),
    )
    for use in uses:
        with pytest.raises(UnknownValueError):
            use()
    assert [*until_unknown(value for value in (1, 2, UNKNOWN, 3) if value < 9)] == [1, 2]


def test_marked_paths() -> None:
    data: Any = {"env": {"A": 1, "B": 2}, "args": ["a", "b"]}
    marked = mark(data, [("env", "A"), ("env", "A", "key"), ("args", 1), ("roles", "worker", "replicas")])
    assert is_unknown(marked, ("env", "A", "key"))
    assert is_unknown(marked, ("roles",))
    assert not is_unknown(marked, ("env", "B"))
    assert known_part(marked) == ({"env": {"B": 2}}, (("env", "A"), ("args",), ("roles",)))
    assert data == {"env": {"A": 1, "B": 2}, "args": ["a", "b"]}
