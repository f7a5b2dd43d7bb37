"""The edit loop: a user edits, checks, compares and renders one job. Helm on the chart of the job is the comparison.

    edit_rows(folder, rounds)    the rows for the job of `tfgen init`, and for dist-mnist

A check has a second peer with equal work: the commands that lint, build and validate all objects of the job.

Each command runs on a new edit. So the cache contains the results of the committed job, and no result of the edited
job.

The last rows are about `--watch`: from the write of the job file to the end of the printed result.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.measure import Cost, program
from tests.bench.mnist_jobs import DIST_MNIST
from tests.bench.repository import commit, initialize, run
from tests.bench.results import Row
from tests.bench.rounds import factor, in_turn
from tests.support.tools import LEAST_KUBERNETES, kubernetes_schemas

_ROWS: Final = (
    ("check", "checked", ("tfgen", "check", "jobs"), "at most 2.5"),
    ("render", "rendered", ("tfgen", "render", "jobs"), "at most 1.8"),
    ("diff", "compared with the commit", ("tfgen", "diff", "jobs"), "at most 1.8"),
    ("stdout", "objects printed", ("tfgen", "render", "--stdout", "jobs"), "at most 1.7"),
)
_WATCHED: Final = (
    ("check", "checked again", r"errors?, \d+ warnings?;.*\n", "at most 1.2"),
    ("render", "rendered again", r" unchanged\n", "at most 1.0"),
    ("diff", "compared again", r" changed since HEAD\n", "at most 1.0"),
)
"""Each command with ``--watch``: its name, the title, the end of its result, and the goal."""

_PROBLEMS: Final = 1
"""The exit code of `tfgen check` for a job that was edited after its last render."""


def edit_rows(folder: Path, rounds: int) -> list[Row]:
    """Measure the edit loop of a small and of a large job, in subfolders of `folder`."""
    small, large = folder / "init", folder / "dist-mnist"
    initialize(small)
    run(("tfgen", "init", "mnist", "--out", "jobs"), small)
    initialize(large)
    shutil.copytree(DIST_MNIST, large / "jobs" / "dist-mnist")
    return [
        *_rows(small, "mnist", "registry.example.com/ml/mnist:1.0.", "an edited job of `tfgen init`", rounds),
        *_rows(large, "dist-mnist", "registry.example.com/ml/dist-mnist:1.4.", "edited dist-mnist", rounds),
    ]


def _rows(folder: Path, name: str, image: str, title: str, rounds: int) -> Iterator[Row]:
    """Measure the edit loop of the only job of a repository. An edit changes the patch level of the image's tag."""
    file = folder / "jobs" / name / "job.yaml"
    committed, levels = file.read_text(encoding="utf-8"), itertools.count(1)
    run(("tfgen", "render", "jobs"), folder)
    run(("tfgen", "check", "jobs"), folder)  # compiles each Python module before the first round
    commit(folder)

    def edit() -> None:
        file.write_text(committed.replace(f"{image}0", f"{image}{next(levels)}"), encoding="utf-8")

    def edited(command: tuple[str, ...]) -> Cost:
        edit()
        return run(command, folder, allowed=(0, _PROBLEMS))

    commands = {command: (lambda words=words: edited(words)) for command, _, words, _ in _ROWS}
    helm = ("helm", "template", name, f"charts/{name}")
    equal = ("bash", "-c", _equal_work(name, folder))
    times = in_turn({**commands, "helm": lambda: run(helm, folder), "equal": lambda: run(equal, folder)}, rounds)
    peer = ("helm template", median(times["helm"]))
    for command, what, words, goal in _ROWS:
        gain = factor(times[command], times["helm"])
        yield Row(f"{title}, {what}", median(times[command]), peer, gain, goal, " ".join(words))
    equal_peer = ("lint, build, validate", median(times["equal"]))
    yield Row(
        f"{title}, all environments checked",
        median(times["check"]),
        equal_peer,
        factor(times["check"], times["equal"]),
        "at most 1",
        "tfgen check jobs",
    )
    for command, what, end, goal in _WATCHED:
        with _watching(command, end, folder) as result:
            again = {command: lambda result=result: result(edit), "helm": lambda: run(helm, folder)}
            times = in_turn(again, rounds)
        peer = ("helm template", median(times["helm"]))
        gain = factor(times[command], times["helm"])
        yield Row(f"{title}, {what}", median(times[command]), peer, gain, goal, f"tfgen {command} --watch jobs")


@contextmanager
def _watching(command: str, end: str, folder: Path) -> Iterator[Callable[[Callable[[], None]], Cost]]:
    """Start a command with ``--watch``, and yield a function that measures an edit.

    Args:
        command: the command.
        end: the pattern of the end of a result.
        folder: the repository.
    """
    # Without a buffer, the last line of the output is the last line that the command prints.
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / ".cache"), "PYTHONUNBUFFERED": "1"}
    with ExitStack() as stack:
        words = (program("tfgen"), command, "--watch", "jobs")
        process = stack.enter_context(
            subprocess.Popen(
                words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
        stack.callback(process.kill)
        assert process.stdout

        def read(last: str) -> None:
            for line in process.stdout or ():
                if re.search(last, line):
                    return
            sys.exit(f"{' '.join(words)} ended early, in {folder}")

        def measured(edit: Callable[[], None]) -> Cost:
            time.sleep(0.3)  # a person edits after the end of a run
            os.sync()
            began = time.perf_counter()
            edit()
            read(end)
            return Cost(time.perf_counter() - began, 0)

        read("watching for changes")
        yield measured


def _equal_work(name: str, folder: Path) -> str:
    """Return a script with the commands that check the chart and the overlays of a job without tfgen."""
    helm, kustomize = program("helm"), program("kustomize")
    schemas = f"{_standalone_schemas(folder.parent / 'schemas')}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    # The schemas of Kubernetes do not contain the kinds of operators, such as PodGroup.
    validate = f"{program('kubeconform')} -strict -ignore-missing-schemas -schema-location '{schemas}' -"
    environments = [path.name for path in sorted((folder / "overlays" / name).iterdir()) if path.name != "base"]
    builds = [
        command
        for environment in environments
        for command in (
            f"{helm} template {name} charts/{name} --values charts/{name}/values-{environment}.yaml",
            f"{kustomize} build overlays/{name}/{environment}",
        )
    ]
    lint = f"{helm} lint charts/{name}"
    return "\n".join(["set -euo pipefail", lint, *(f"{build} | {validate}" for build in builds)])


def _standalone_schemas(target: Path) -> Path:
    """Write a schema of each kind with only the definitions that the kind uses, and return the folder.

    The default schemas of kubeconform have this form. With all definitions of Kubernetes in each schema, kubeconform
    would need ten times as long.
    """
    if target.exists():
        return target
    target.mkdir()
    source = kubernetes_schemas(LEAST_KUBERNETES)
    definitions = json.loads((source / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    for file in source.glob("[!_]*.json"):
        text = file.read_text(encoding="utf-8").replace("_definitions.json#", "#")
        used: dict[str, object] = {}
        missing = _references(text)
        while missing:
            name = missing.pop()
            used[name] = definitions[name]
            missing |= _references(json.dumps(definitions[name])) - used.keys()
        schema = {**json.loads(text), "$defs": used}
        (target / file.name).write_text(json.dumps(schema), encoding="utf-8")
    return target


def _references(text: str) -> set[str]:
    return set(re.findall(r'"#/\$defs/([^"]+)"', text))
