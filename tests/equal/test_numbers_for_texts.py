"""A chart accepts integers and booleans where job.yaml accepts text, and renders the objects of a job with the text.

`--set` creates an integer of the Go type int64. A values file creates a float64, whose text is 1e+06 for 1000000.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.equal.test_oldest_helm import OldestHelm
from tests.support import normal
from tests.support.chart_job import JOB
from tests.support.command import CommandError
from tests.support.generated import accepted, saying
from tests.support.helm import Helm
from tests.support.rendered import Rendered
from tests.support.tools import helm, oldest_helm_program
from tfgen.graph.built import plain_objects
from tfgen.schema import tunables

HELMS: Mapping[str, Callable[[], Helm]] = {
    "helm": helm,
    "helm-3.14": lambda: OldestHelm(oldest_helm_program()),
}


@dataclass(frozen=True)
class Case:
    """A value that the user of a chart sets, in a file and on a command line, and the equal value in a job."""

    name: str
    values: Mapping[str, Any]
    setting: str
    job: Mapping[str, Any]


CASES = [
    Case("run", {"run": 2}, "run=2", {"run": "2"}),
    Case("a run of many digits", {"run": 1000000}, "run=1000000", {"run": "1000000"}),
    Case("a run whose number is not true", {"run": 0}, "run=0", {"run": "0"}),
    Case(
        "a run's folder",
        {"run": 3, "resumeFrom": 1, "storage": {"data": {"runs": "Separate"}}},
        "run=3,resumeFrom=1,storage.data.runs=Separate",
        {"run": "3", "resumeFrom": "1", "storage": {"data": {"runs": "Separate"}}},
    ),
    Case(
        "env",
        {"env": {"STEPS": 1000000, "SEED": -1, "ZERO": 0, "DEBUG": True, "QUIET": False}},
        "env.STEPS=1000000,env.SEED=-1,env.ZERO=0,env.DEBUG=true,env.QUIET=false",
        {"env": {"STEPS": "1000000", "SEED": "-1", "ZERO": "0", "DEBUG": "true", "QUIET": "false"}},
    ),
    Case(
        "env of a role",
        {"roles": {"worker": {"env": {"STEPS": 9007199254740991}}}},
        "roles.worker.env.STEPS=9007199254740991",
        {"roles": {"worker": {"env": {"STEPS": "9007199254740991"}}}},
    ),
    Case(
        "labels",
        {"labels": {"cost": 12345678, "paid": True}, "roles": {"ps": {"labels": {"shard": 0}}}},
        "labels.cost=12345678,labels.paid=true,roles.ps.labels.shard=0",
        {"labels": {"cost": "12345678", "paid": "true"}, "roles": {"ps": {"labels": {"shard": "0"}}}},
    ),
    Case(
        "annotations",
        {"annotations": {"ticket": 1000000}, "roles": {"chief": {"annotations": {"ticket": 2000000}}}},
        "annotations.ticket=1000000,roles.chief.annotations.ticket=2000000",
        {"annotations": {"ticket": "1000000"}, "roles": {"chief": {"annotations": {"ticket": "2000000"}}}},
    ),
    Case(
        "nodes",
        {"nodeSelector": {"rack": 1000000}, "roles": {"worker": {"nodeSelector": {"fast": True}}}},
        "nodeSelector.rack=1000000,roles.worker.nodeSelector.fast=true",
        {"nodeSelector": {"rack": "1000000"}, "roles": {"worker": {"nodeSelector": {"fast": "true"}}}},
    ),
    Case(
        "args",
        {"args": ["--steps", 1000000, "--debug", True], "roles": {"ps": {"args": ["--rank", 0]}}},
        "args={--steps,1000000,--debug,true},roles.ps.args={--rank,0}",
        {"args": ["--steps", "1000000", "--debug", "true"], "roles": {"ps": {"args": ["--rank", "0"]}}},
    ),
    Case("command", {"command": ["sleep", 1000000]}, "command={sleep,1000000}", {"command": ["sleep", "1000000"]}),
]


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("numbers"))


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_helm_gives_the_objects_of_a_job_with_the_text(case: Case, helm: str, chart: Rendered, tmp_path: Path) -> None:
    program, job = HELMS[helm](), saying(JOB, case.job)
    assert accepted(job)
    file = tmp_path / "values-of-the-test.json"
    file.write_text(json.dumps(case.values), encoding="utf-8")
    normal.assert_equal(
        {
            "tfgen": normal.by_identity(plain_objects(job)),
            "helm --values": chart.by_helm("--values", str(file), helm=program),
            "helm --set": chart.by_helm("--set", case.setting, helm=program),
        }
    )


@pytest.mark.parametrize("helm", HELMS)
def test_a_commit_whose_hash_has_digits_alone(helm: str, tmp_path: Path) -> None:
    git = {"repository": "https://git.example.com/ml/train.git"}
    job = saying(JOB, {"code": {"git": {**git, "revision": "1234567"}}})
    rendered = Rendered.write(saying(JOB, {"code": {"git": {**git, "revision": "main"}}}), tmp_path)
    by_helm = rendered.by_helm("--set", "code.git.revision=1234567", helm=HELMS[helm]())
    normal.assert_equal({"tfgen": normal.by_identity(plain_objects(job)), "helm": by_helm})


@pytest.mark.parametrize(
    "setting", ["env.A=0.5", "labels.a=-1", "run=-1", "run=true", "args={9007199254740992}", "roles.ps.labels.a=-1"]
)
def test_helm_refuses_a_number_whose_text_a_job_may_not_have_or_is_not_known(setting: str, chart: Rendered) -> None:
    """A fraction can have several texts, and a number above 2^53 - 1 has lost digits."""
    key, _, number = setting.partition("=")
    with pytest.raises(CommandError):
        chart.by_helm("--set-json", f"{key}={number.replace('{', '[').replace('}', ']')}")


@pytest.mark.parametrize(
    "values", [{"run": 2}, {"env": {"STEPS": 1000000}}, {"args": [1000000]}, {"labels": {"cost": 1}}], ids=str
)
def test_a_job_has_text_alone(values: Mapping[str, Any]) -> None:
    assert not accepted(saying(JOB, values))


def test_every_value_of_this_kind_is_tried() -> None:
    there = {tunable.path for tunable in tunables.tunables({**JOB["spec"], "code": {"git": {}}}) if tunable.chart_types}
    tried = {path for case in CASES for path in _paths(case.values)} | {("code", "git", "revision")}
    by_name = {path[-1] for path in there}
    assert by_name == {path[-1] for path in tried & there}


def _paths(values: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(values, Mapping):
        return [above]
    return [above, *(path for key, value in values.items() for path in _paths(value, (*above, key)))]
