"""``NOTES.txt``: what Helm says after an installation."""

from __future__ import annotations

from tfgen.holes import ChartOnly, Node, Not, Text, When
from tfgen.job import RoleName, Structure
from tfgen.objects import labels, names
from tfgen.objects.values import value


def notes(structure: Structure) -> Node:
    """The notes: how to follow the run, and how to start the next one."""
    namespace = ChartOnly("{{ .Release.Namespace }}")
    follow: RoleName = "chief" if structure.role("chief") else structure.roles[-1].name
    return Text(
        (
            "The run ",
            names.RUN,
            " is on its way.\n\nIts pods:\n\n  kubectl get pods --namespace ",
            namespace,
            f" --selector {labels.JOB}=",
            names.JOB,
            f",{labels.RUN}=",
            value("run"),
            f"\n\nWhat the {follow} says:\n\n  kubectl logs --follow --namespace ",
            namespace,
            f" --selector {labels.JOB}=",
            names.JOB,
            f",{labels.RUN}=",
            value("run"),
            f",{labels.ROLE}={follow}\n\n",
            "An upgrade with the same run keeps what runs and starts nothing again. A new run has a new name:\n\n"
            "  helm upgrade ",
            names.RELEASE,
            " CHART --namespace ",
            namespace,
            " --reuse-values --set-string run=",
            When(Not(value("run")), "2", "NEXT"),
            "\n",
        )
    )
