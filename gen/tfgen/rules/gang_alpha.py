"""A gang that a cluster cannot start as it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_ALPHA: Final = (
    "an alpha: a cluster needs version 1.36, the API scheduling.k8s.io/v1alpha2 and the feature gates GenericWorkload "
    "and GangScheduling"
)
_BETA: Final = "a beta: a cluster needs version 1.37 with the API scheduling.k8s.io/v1beta1 switched on"


def _check(view: View) -> Iterator[Finding]:
    if view.job.structure.gang == "kubernetes" and view.values["gang"]["enabled"]:
        is_beta = view.values["gang"]["apiVersion"] == "v1beta1"
        message = f"gang.scheduler kubernetes is {_BETA if is_beta else _ALPHA}, or it refuses the PodGroup"
        yield Finding(("gang", "scheduler"), message)


RULES: Final = (Rule("gang-alpha", "warning", "A gang needs an API of Kubernetes that is off by default.", _check),)
