"""Jobs made of examples/dist-mnist, with all of its environments: the size and the content of real job files.

write_mnist_jobs(folder, 240)    jobs/mnist-000/job.yaml ... jobs/mnist-239/job.yaml, of 12 structures
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

DIST_MNIST: Final = Path(__file__).parents[2] / "examples" / "dist-mnist"

ENVIRONMENTS: Final = ("dev", "staging", "prod")
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
    text = (DIST_MNIST / "job.yaml").read_text(encoding="utf-8")
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
