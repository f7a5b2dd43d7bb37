"""Writes ``NOTES.txt``: the notes that Helm prints after an installation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tfgen.graph.holes import ChartOnly, Node, Text, When
from tfgen.graph.objects import names
from tfgen.graph.objects.values import value
from tfgen.graph.workloads import WORKLOADS
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

NOTES: Final = "templates/NOTES.txt"
"""The path of the notes in the chart."""


def notes(structure: Structure) -> Node:
    """Return the notes, which show how to list the pods of a run, follow the log of a run, and start the next run."""
    namespace = ChartOnly("{{ .Release.Namespace }}")
    log_role = WORKLOADS[structure.kind].log_role(structure)
    return Text(
        (
            "The run ",
            names.RUN,
            " is starting.\n\nTo list its pods:\n\n  kubectl get pods --namespace ",
            namespace,
            f" \\\n    --selector {keys.JOB}=",
            names.JOB,
            f",{keys.RUN}=",
            value("run"),
            f"\n\nTo follow the log of the {log_role}:\n\n  kubectl logs --follow --namespace ",
            namespace,
            f" \\\n    --selector {keys.JOB}=",
            names.JOB,
            f",{keys.RUN}=",
            value("run"),
            f",{keys.ROLE}={log_role}\n\n",
            f"{upgrade_note(structure)}\nTo start a new run, set a new name for the run:\n\n  helm upgrade ",
            names.RELEASE,
            " CHART --namespace ",
            namespace,
            " \\\n    --reset-then-reuse-values --set run=",
            When(value("run"), "NEXT", "2"),
            "\n",
        )
    )


def environment_notes(names: Iterable[str]) -> str:
    """Return the last lines of the notes, which name the values file of each environment."""
    return "".join(f"\nTo install with the values of {name}:  -f CHART/values-{name}.yaml\n" for name in names)


def upgrade_note(structure: Structure) -> str:
    """Return the text that explains the effect of ``helm upgrade`` without a new run name.

    During an upgrade, the chart does not scale up a StatefulSet that the finisher released (`graph.graph`).
    A rollback applies the replicas of an earlier revision (tests/e2e/server/test_released.py).
    """
    workload = WORKLOADS[structure.kind]
    scalable = " and ".join(role.name for role in structure.roles if workload.is_scalable(role))
    if not scalable:
        return "An upgrade with the same run starts no task again."
    return (
        "Helm refuses an upgrade with the same run if the upgrade would change a pod.\n"
        f"After the end of the run, an upgrade keeps {scalable} at 0 replicas, but a rollback starts {scalable} again."
    )
