"""A git repository of jobs for a benchmark."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tests.bench.jobs import write_jobs
from tests.bench.measure import Cost, measure, program


def repository(folder: Path, jobs: int, structures: int) -> None:
    """Make a repository of generated jobs without rendered files or commits."""
    initialize(folder)
    write_jobs(folder, jobs, structures)


def initialize(folder: Path) -> None:
    """Make an empty repository that ignores the cache of the measured commands."""
    folder.mkdir(parents=True, exist_ok=True)
    measure(("git", "init", "--quiet"), folder)
    (folder / ".gitignore").write_text(".cache/\n", encoding="utf-8")


def commit(folder: Path) -> None:
    """Commit all files."""
    measure(("git", "add", "--all"), folder)
    author = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    measure(("git", *author, "commit", "--quiet", "--message=bench"), folder)


def run(command: Sequence[str], folder: Path, cores: int | None = None, allowed: Collection[int] = (0,)) -> Cost:
    """Measure a command whose program the benchmark finds. An exit code outside `allowed` ends the benchmark."""
    return measure((program(command[0]), *command[1:]), folder, cores, allowed)


def peer_seconds(folder: Path, jobs: Collection[str], environments: Collection[str]) -> float:
    """Return the seconds of one `helm template` and one `kustomize build` for each environment of rendered jobs."""
    seconds = 0.0
    for name in jobs:
        for environment in environments:
            values = f"charts/{name}/values-{environment}.yaml"
            seconds += run(("helm", "template", name, f"charts/{name}", "--values", values), folder).seconds
            seconds += run(("kustomize", "build", f"overlays/{name}/{environment}"), folder).seconds
    return seconds
