""".ci/run itself, with a stand-in for make: what runs beside what, and what a failure of either comes to."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.command import Command, CommandError
from tests.support.tools import ROOT

MAKE = """\
#!/usr/bin/env bash
# Writes when a target begins and ends; WAIT_train=node has train wait until node has begun, and FAILS=train fails it.
echo "the output of $1"
echo "$1 begins" >>log
until=WAIT_$1
while [[ ${!until:-} ]] && ! grep -q "^${!until} begins" log; do sleep 0.02; done
if [[ $1 = "${FAILS:-}" ]]; then exit 3; fi
echo "$1 ends" >>log
"""
BESIDE = ("train", "node")
"""What runs beside the tests on control planes."""


class Ci:
    """A checkout that has no more than .ci/run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in {"make": MAKE, "run": (ROOT / ".ci" / "run").read_text(encoding="utf-8")}.items():
            path = folder / ".ci" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        (folder / ".gitignore").write_text("log\ntmp\n", encoding="utf-8")
        (folder / "tmp").mkdir()
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=x")):
            Command(("git", *words), cwd=folder, env=git_author.VARIABLES).run()

    def run(self, **variables: str) -> str:
        path = f"{self.folder / '.ci'}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "TMPDIR": str(self.folder / "tmp"), **variables}
        return Command(("bash", self.folder / ".ci" / "run"), cwd=self.folder, env=own).run(timeout=60)

    def fail(self, **variables: str) -> str:
        """What is printed by a run that fails."""
        with pytest.raises(CommandError) as error:
            self.run(**variables)
        return error.value.stdout + error.value.stderr

    @property
    def log(self) -> list[str]:
        return (self.folder / "log").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def ci(tmp_path: Path) -> Ci:
    return Ci(tmp_path)


def test_all_steps_pass_and_the_tests_on_control_planes_run_beside_two(ci: Ci) -> None:
    printed = ci.run(WAIT_controlplane="node")  # and would wait for ever if it ran before it
    assert re.findall(r"^=== (.*): passed", printed, re.MULTILINE) == [
        "as a newcomer",
        "tools",
        "shells",
        "with all tools",
        "servers",
        "training",
        "on a real node",
        "on control planes",
        "demo",
        "nothing left behind",
    ]
    assert ci.log.index("controlplane ends") > ci.log.index("node begins")
    assert ci.log.index("demo begins") > ci.log.index("controlplane ends")
    assert "=== all passed" in printed
    assert not list((ci.folder / "tmp").iterdir())


def test_what_runs_beside_is_printed_apart(ci: Ci) -> None:
    lines = ci.run(WAIT_train="controlplane").splitlines()
    at = lines.index("the output of controlplane")
    assert lines[at - 1].startswith("=== on control planes: make controlplane ")
    assert lines[at + 1].startswith("=== on control planes: passed in ")


def test_a_failure_of_what_runs_beside_fails_the_run(ci: Ci) -> None:
    printed = ci.fail(FAILS="controlplane")
    assert "=== on a real node: passed" in printed
    assert "the output of controlplane" in printed
    assert "=== on control planes: FAILED" in printed
    assert "=== demo" not in printed
    assert not list((ci.folder / "tmp").iterdir())


@pytest.mark.parametrize("target", BESIDE)
def test_a_failure_beside_it_ends_it_and_prints_what_it_printed(ci: Ci, target: str) -> None:
    """At once: what it waits for never comes."""
    printed = ci.fail(FAILS=target, **{f"WAIT_{target}": "controlplane"}, WAIT_controlplane="demo")
    assert "FAILED" in printed
    assert "the output of controlplane" in printed
    assert "controlplane ends" not in ci.log
    assert "=== demo" not in printed
    assert not list((ci.folder / "tmp").iterdir())


def test_a_failure_of_any_other_step_fails_the_run(ci: Ci) -> None:
    assert "=== with all tools: FAILED" in ci.fail(FAILS="check")
    assert ci.log[-1] == "check begins"
