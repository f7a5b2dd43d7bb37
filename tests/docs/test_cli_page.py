"""docs/cli.md is the current output of the parsers, and the example of each command works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from cli_page import PAGE, page
from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen.cli.parser import COMMANDS, command_of, parsers, read_arguments

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  command: [python, -c, print("trained")]
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  environments: {dev: {}, prod: {}}
"""
TFJOB = """\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: cifar}
spec:
  tfReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: "cifar:1.0.0"}]}}}
"""
NODES = """\
apiVersion: v1
kind: Node
metadata: {name: node}
status: {allocatable: {cpu: "64", memory: 256Gi, pods: "110"}}
"""

SET_UP = """
git init --quiet --bare --initial-branch=main ../origin
git init --quiet --initial-branch=main .
git remote add origin ../origin
git add job.yaml
git commit --quiet --message=job
git push --quiet --set-upstream origin main
tfgen render jobs
"""

IN_A_CLUSTER = re.findall(r"^    (tfgen .*)$", (ROOT / "docs" / "live.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_is_what_the_parsers_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make cli`"


def test_help_ends_with_an_example_of_the_command() -> None:
    for name in COMMANDS:
        help_text = parsers([name]).commands[name].format_help()
        assert help_text.endswith(f"\nexample:\n  {command_of(name).EXAMPLE}\n")
        words = re.sub(r".*<\((.*)\)| > .*", r"\1", command_of(name).EXAMPLE)
        assert read_arguments(shlex.split(words)[1:]).run is command_of(name).run


def shell(command: str, root: Path) -> None:
    """Run a command in the repository of a root folder, with the cache of the root folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"TMPDIR": str(root), "XDG_CACHE_HOME": str(root / "cache")}
    environment = {"PATH": path, **own}
    Command(("bash", "-e", "-c", command), cwd=root / "repository", env=environment).run()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with two rendered jobs."""
    root = tmp_path_factory.mktemp("prepared")
    for path, text in {
        "job.yaml": JOB,
        "jobs/cifar.yaml": JOB.replace("name: mnist", "name: cifar"),
        "tfjob.yaml": TFJOB,
        "nodes.yaml": NODES,
    }.items():
        file = root / "repository" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shell(SET_UP, root)
    return root


@pytest.mark.parametrize("name", [name for name in COMMANDS if command_of(name).EXAMPLE not in IN_A_CLUSTER])
def test_an_example_does_its_work(name: str, prepared: Path, tmp_path: Path) -> None:
    """Run the example of a command. tests/docs/test_commands.py runs the examples of docs/live.md in a cluster."""
    shutil.copytree(prepared, tmp_path / "root")
    shell(f"mkdir mnist; {command_of(name).EXAMPLE}", tmp_path / "root")
