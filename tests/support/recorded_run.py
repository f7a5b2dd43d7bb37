"""Recorded objects of a run in a real API server, in a file.

    python -m tests.support.recorded_run tests/live/quota/job.yaml ENV > tests/live/quota/cluster.json

The command records the run in the cluster of the kubeconfig. ENV is an environment, or - for the job itself.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tfgen.check.jobs import check
from tfgen.graph.graph import build, task_objects
from tfgen.kubernetes.object import identity
from tfgen.live.run import DeclaredRun, Snapshot, declared_run


def read_run(job: Path, environment: str | None) -> DeclaredRun:
    """Return the run that a job.yaml declares."""
    (document,) = check(job.read_text(encoding="utf-8"), job.name).documents
    return declared_run(build(document.data), task_objects(document.data, environment), environment)


def read_recorded(file: Path) -> tuple[Snapshot, str | None, datetime]:
    """Read the snapshot, the environment and the time of a recording from a file."""
    data = json.loads(file.read_text(encoding="utf-8"))
    snapshot = Snapshot(
        pods=tuple(data["pods"]),
        objects={identity(item): item for item in data["objects"]},
        warnings=tuple(data["warnings"]),
        unreadable=tuple(data["unreadable"]),
        logs=data["logs"],
        workloads=tuple(data.get("workloads", ())),
    )
    return snapshot, data["environment"], datetime.fromisoformat(data["now"])


def record(job: Path, environment: str | None, now: datetime) -> dict[str, Any]:
    """Return the objects of a run in the cluster of the kubeconfig, as content of a recording."""
    from tfgen.live.api import ONCE
    from tfgen.live.clusters import (
        Clusters,  # needs the kubernetes client
        read_snapshot,
    )
    from tfgen.live.connection import Access

    run = read_run(job, environment)
    ((api, namespace, runs),) = Clusters(Access(), ONCE, print).by_namespace([run])
    snapshot = read_snapshot(api, namespace, runs, with_logs=True)
    return {
        "environment": environment,
        "now": now.isoformat(timespec="seconds"),
        "pods": [_short(pod) for pod in snapshot.pods],
        "objects": [_short(item) for item in snapshot.objects.values()],
        "warnings": [_short(event) for event in snapshot.warnings],
        "unreadable": list(snapshot.unreadable),
        "logs": dict(snapshot.logs),
        "workloads": [_short(item) for item in snapshot.workloads],
    }


def _short(item: Any) -> Any:
    """Return an object without `managedFields`, which no test reads."""
    return {**item, "metadata": {key: value for key, value in item["metadata"].items() if key != "managedFields"}}


if __name__ == "__main__":
    _, file, name = sys.argv
    print(json.dumps(record(Path(file), None if name == "-" else name, datetime.now(UTC)), indent=1))
