"""Gangs that need an API of Kubernetes which a cluster does not enable by default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_ALPHA: Final = (
    "alpha API scheduling.k8s.io/v1alpha2; enable this API and the feature gates GenericWorkload and GangScheduling in "
    "the cluster, which must have version 1.36"
)
_BETA: Final = "beta API scheduling.k8s.io/v1beta1; enable this API in the cluster, which must have version 1.37"


def _check(view: View) -> Iterator[Finding]:
    if view.job.structure.gang == "kubernetes" and view.values["gang"]["enabled"]:
        is_beta = view.values["gang"]["apiVersion"] == "v1beta1"
        yield Finding(("gang", "scheduler"), f"gang.scheduler kubernetes needs the {_BETA if is_beta else _ALPHA}")


RULES: Final = (
    Rule(
        "gang-alpha",
        "warning",
        "The scheduler of Kubernetes can start a gang only with an API that is disabled by default.",
        _check,
    ),
)
