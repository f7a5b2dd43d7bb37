"""Jobs made of examples/dist-mnist, with all of its environments: the size and the content of real job files.

write_mnist_jobs(folder, 240)    jobs/mnist-000/job.yaml ... jobs/mnist-239/job.yaml, of 12 structures
mnist_rows(folder, sizes)        the rows for a first render, and for a check and a diff after a changed default
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.measure import Cost
from tests.bench.repository import commit, initialize, peer_seconds, run
from tests.bench.results import Row, Sizes, few_rounds
from tests.bench.rounds import factor, in_turn

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "dist-mnist"

_ENVIRONMENTS: Final = ("dev", "staging", "prod")
_SCHEDULERS: Final = ("volcano", "kube-batch", "coscheduling")
STRUCTURES: Final = len(_SCHEDULERS) * 2 * 2
"""Number of structures: each scheduler, with and without TensorBoard, with each action after the end of the job."""


def mnist_job(number: int) -> str:
    """Return a job.yaml. The number selects the structure, the numbers of tasks, and the port."""
    scheduler = _SCHEDULERS[number % len(_SCHEDULERS)]
    tensorboard, release = divmod(number // len(_SCHEDULERS) % 4, 2)
    changes = {
        "  name: dist-mnist\n": f"  name: mnist-{number:03}\n",
        "    ps:\n      replicas: 2\n": f"    ps:\n      replicas: {2 + number % 3}\n",
        "    worker:\n      replicas: 4\n": f"    worker:\n      replicas: {4 + number % 5}\n",
        "    scheduler: volcano\n": f"    scheduler: {scheduler}\n",
        "  environments:\n": (
            f"  port: {2222 + tensorboard}\n"
            + ("  tensorboard: {logDir: /model/logs}\n" if tensorboard else "")
            + ("  completion: {release: Keep}\n" if release else "")
            + "  environments:\n"
        ),
    }
    if tensorboard:  # TensorBoard and the chief mount the volume on two nodes
        changes |= {
            "      for: [chief]\n": "",
            "size: 20Gi, accessMode: ReadWriteOnce": "size: 20Gi, accessMode: ReadWriteMany",
        }
    if scheduler == "coscheduling":  # only Volcano and kube-batch have queues
        changes |= {"    queue: research\n": "", "      gang: {queue: production}\n": ""}
    text = (EXAMPLE / "job.yaml").read_text(encoding="utf-8")
    for old, new in changes.items():
        if text.count(old) != 1:
            raise ValueError(f"examples/dist-mnist/job.yaml contains {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def write_mnist_jobs(folder: Path, jobs: int) -> None:
    """Write jobs to `folder/jobs`. The jobs cycle through the structures."""
    for number in range(jobs):
        file = folder / "jobs" / f"mnist-{number:03}" / "job.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(mnist_job(number), encoding="utf-8")


def mnist_rows(folder: Path, sizes: Sizes) -> Iterator[Row]:
    """Measure jobs made of dist-mnist, in subfolders of `folder`."""
    yield _first_render(folder, min(sizes.jobs, 240), few_rounds(sizes))
    yield from _changed_default(folder / "default", min(sizes.jobs, 300), few_rounds(sizes))


def _first_render(folder: Path, jobs: int, rounds: int) -> Row:
    """Measure the first render on one core, alternately with the peers for one job of each structure."""
    folders = (folder / f"render-{number}" for number in itertools.count())
    names = [f"mnist-{number:03}" for number in range(min(jobs, STRUCTURES))]
    rendered: list[Path] = []

    def render() -> Cost:
        rendered.append(next(folders))
        initialize(rendered[-1])
        write_mnist_jobs(rendered[-1], jobs)
        return run(("tfgen", "render", "jobs"), rendered[-1], cores=1)

    def peers() -> Cost:
        return Cost(peer_seconds(rendered[-1], names, _ENVIRONMENTS) * jobs / len(names), 0)

    times = in_turn({"tfgen": render, "peers": peers}, rounds)
    title = f"{jobs:,} jobs of {len(names)} structures made of dist-mnist rendered, on one core"
    peer = ("helm and kustomize for these jobs", median(times["peers"]))
    gain = factor(times["peers"], times["tfgen"])
    return Row(title, median(times["tfgen"]), peer, gain, "at least 30", "tfgen render jobs")


def _changed_default(folder: Path, jobs: int, rounds: int) -> Iterator[Row]:
    """Measure a check and a diff after a default of all jobs changed, alternately with a check of the commit."""
    defaults = folder / "jobs" / "tfgen.yaml"
    initialize(folder)
    write_mnist_jobs(folder, jobs)
    text = "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {priorityClassName: level-0}\n"
    defaults.write_text(text, encoding="utf-8")
    run(("tfgen", "render", "jobs"), folder)
    commit(folder)
    levels = itertools.count(1)

    def after_change(command: str) -> Cost:
        defaults.write_text(text.replace("level-0", f"level-{next(levels)}"), encoding="utf-8")
        cost = run(("tfgen", command, "jobs"), folder, allowed=(0, 1))
        defaults.write_text(text, encoding="utf-8")
        return cost

    commands = {command: partial(after_change, command) for command in ("check", "diff")}
    committed = partial(run, ("tfgen", "check", "jobs"), folder)
    times = in_turn({**commands, "committed": committed}, rounds)
    peer = ("check as committed", median(times["committed"]))
    for command, what in (("check", "checked"), ("diff", "compared with the commit")):
        title = f"{jobs:,} jobs made of dist-mnist {what} after a default changed, on all cores"
        gain = factor(times[command], times["committed"])
        yield Row(title, median(times[command]), peer, gain, "in 3 s", f"tfgen {command} jobs")
