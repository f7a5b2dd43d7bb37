"""docs/operations.md: its examples are lines of recorded runs, and its commands name objects of a rendered job."""

from __future__ import annotations

import re
import shlex
from functools import cache

import pytest
import yaml

from tests.support.tools import ROOT
from tfgen.cli.parser import read_arguments
from tfgen.graph.graph import plain_objects

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
JOB = ROOT / "tests" / "live" / "gpus" / "job.yaml"
STATUSES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "live").glob("*/status.txt"))]
EXAMPLES = re.findall(r"^```\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = sorted({" ".join(text.split()) for text in re.findall(r"`((?:tfgen|kubectl) [^`]+)`", PAGE)})
KINDS = {"job": "Job", "statefulset": "StatefulSet"}
LISTED = {
    "gitrepositories",
    "helmreleases",
    "kustomizations",
    "nodes",
    "podgroups",
    "pods",
    "pvc",
    "quota",
    "workloads",
}


@cache
def names() -> dict[str, set[str]]:
    """Return the names of the objects of the page's job, by kind."""
    objects: dict[str, set[str]] = {}
    for item in plain_objects(yaml.safe_load(JOB.read_text(encoding="utf-8"))):
        objects.setdefault(item["kind"], set()).add(item["metadata"]["name"])
    return objects


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_part_of_a_recorded_run(example: str) -> None:
    assert any(f"\n{example}" in f"\n{status}" for status in STATUSES)


def test_each_kind_of_recorded_problem_is_on_the_page() -> None:
    reasons = set(re.findall(r"^why: +[^:]+: ([A-Z]\w+):", "".join(STATUSES), re.MULTILINE))
    assert reasons == set(re.findall(r"^why: +[^:]+: ([A-Z]\w+):", PAGE, re.MULTILINE))


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("tfgen ")])
def test_a_command_of_tfgen_has_arguments_that_its_parser_takes(command: str) -> None:
    if len(command.split()) > 2:
        assert read_arguments(shlex.split(command)[1:]).run


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("kubectl ")])
def test_a_command_of_kubectl_names_objects_of_the_job(command: str) -> None:
    match shlex.split(command)[1:]:
        case ["logs", target, *_]:
            kind, name = target.split("/")
            assert name in names()[KINDS[kind]]
        case ["describe", "pod", name, *_]:
            workload, _, index = name.rpartition("-")
            assert workload in names()["StatefulSet"]
            assert index.isdecimal()
        case ["describe" | "get" | "delete", kind, name, *_] if kind in KINDS:
            assert name in names()[KINDS[kind]]
        case ["taint" | "delete", "nodes" | "node", "NODE", *_]:
            assert "NODE" in command
        case ["describe" | "get" | "delete", kind, *_]:
            assert kind in LISTED
        case _:
            raise AssertionError(f"unknown command: {command}")


def test_each_link_within_the_page_has_its_heading() -> None:
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings
