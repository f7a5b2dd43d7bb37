"""Tests of the modules that a command imports, because imports take most of the time of a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: ml.example.org/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 4}}
  environments: {dev: {}, prod: {roles: {worker: {replicas: 8}}}}
"""

# Names of modules, and names of rooms and packages, which include all their modules.
OF_A_JOB = {
    "email",  # jsonschema_rs imports it
    "jsonschema_rs",
    "tfgen.check.source",
    "tfgen.graph",
    "tfgen.rules.table",
    "tfgen.targets",
    "tfgen.text.reader",
    "yaml",
}
"""Modules that read, check or render a job."""

OF_NONE = {
    "bz2",
    "dataclasses",
    "inspect",
    "jinja2",
    "lsprotocol",
    "lzma",
    "multiprocessing",
    "pygls",
    "shutil",
    "tempfile",
    "tfgen.importers",
    "tfgen.live",
    "tfgen.local",
    "tfgen.lsp",
}
"""Modules that neither render nor check needs."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with one job that is rendered, checked and committed."""
    root = tmp_path_factory.mktemp("start")
    (root / "jobs").mkdir()
    (root / "jobs" / "mnist.yaml").write_text(JOB)
    (root / ".gitignore").write_text(".cache/\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    loaded(root, "render", "jobs")
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=a")):
        subprocess.run((*git, *words), cwd=root, check=True)
    loaded(root, "check", "jobs")
    return root


def loaded(root: Path, *words: str, cache: Path | None = None) -> set[str]:
    """Return the modules that a command without errors has loaded at its end. The default cache is shared."""
    code = "import sys, tfgen.cli; print(tfgen.cli.run(sys.argv[1:]), *sys.modules, file=sys.stderr)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache or root / ".cache")}
    done = subprocess.run(
        (sys.executable, "-c", code, *words), cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return {*modules}


def within(modules: set[str], names: set[str]) -> set[str]:
    """Return the names of modules and packages in `names` that `modules` contains."""
    return {name for name in names if any(f"{module}.".startswith(f"{name}.") for module in modules)}


BESIDE_THE_GRAPH = OF_A_JOB - {"tfgen.graph"}
"""Modules of `OF_A_JOB` that printing the objects of a job does not need."""


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (("render", "jobs"), OF_A_JOB | OF_NONE | {"subprocess"}),
        (("check", "jobs"), OF_A_JOB | OF_NONE),
        (("render", "--stdout", "--env", "prod", "jobs"), BESIDE_THE_GRAPH | OF_NONE | {"subprocess"}),
    ],
)
def test_what_is_known_of_a_job_loads_nothing_that_works_it_out(
    words: tuple[str, ...], unused: set[str], repository: Path
) -> None:
    assert within(loaded(repository, *words), unused) == set()


@pytest.mark.parametrize("words", [("render", "jobs"), ("check", "jobs"), ("render", "--stdout", "jobs/mnist.yaml")])
def test_no_other_command_is_loaded(words: tuple[str, ...], repository: Path, tmp_path: Path) -> None:
    assert within(loaded(repository, *words, cache=tmp_path), OF_NONE) == set()


def test_a_comparison_with_git_loads_nothing_of_a_cluster(repository: Path) -> None:
    assert within(loaded(repository, "diff", "jobs"), {"tfgen.live", "urllib3"}) == set()
