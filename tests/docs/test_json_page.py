"""docs/json.md: each command in its table prints the keys in the table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.repository import run_tfgen
from tests.support.small_job import JOB
from tests.support.tools import ROOT

PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
KEYS = {
    command: re.findall("`([A-Za-z]+)`", keys.partition("; with")[0].partition(", and")[0])
    for command, keys in re.findall(r"^\| `([a-z]+)` \| (.*) \|$", PAGE, flags=re.MULTILINE)
}


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for words in (["init", "--quiet"], ["config", "user.name", "a"], ["config", "user.email", "a@example.com"]):
        Command(("git", *words)).run()
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    return tmp_path / "job.yaml"


def printed(command: str, *words: str) -> Any:
    return json.loads(run_tfgen(command, "--format", "json", *words)[1])


def test_each_command_prints_the_keys_of_the_page(job: Path) -> None:
    runs = {
        "render": ["render", "job.yaml"],
        "check": ["check", "job.yaml"],
        "commit": ["commit", "job.yaml"],
        "completion": ["completion", "bash"],
        "explain": ["explain", "spec.image"],
        "init": ["init", "second"],
        "rerun": ["rerun", "job.yaml", "--env", "prod"],
        "diff": ["diff", "job.yaml"],
        "rm": ["rm", "job.yaml", "--force"],
    }
    for command, argv in runs.items():
        assert {*printed(*argv)} == {*KEYS[command]}, command


def test_problems_and_errors_have_the_keys_of_the_page(job: Path) -> None:
    error, problem = (json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", PAGE, flags=re.DOTALL))
    assert printed("check", "none.yaml") == error
    job.write_text(JOB.replace("replicas", "replica"), encoding="utf-8")
    found = printed("check", "job.yaml")["problems"]
    assert found
    assert all({*one} == {*problem} for one in found)


def test_the_keys_of_a_difference(job: Path) -> None:
    printed("render", "job.yaml")
    printed("commit", "job.yaml")
    job.write_text(JOB.replace("replicas: 4", "replicas: 5"), encoding="utf-8")
    (difference,) = printed("diff", "job.yaml")["jobs"]
    section = PAGE.split("## `diff`")[1]
    named = {*re.findall("`([A-Za-z]+)`", section)}
    environments = difference["environments"]
    objects = [item for environment in environments for item in environment["objects"]]
    assert objects
    fields = [field for item in objects for field in item.get("fields", ())]
    for part in (difference, *environments, *objects, *fields):
        assert {*part} <= named
