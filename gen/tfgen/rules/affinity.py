"""Affinities with unknown keys, with values of a wrong type, or without a required key.

The schema of a job accepts any content under the three kinds of affinity. This rule validates the content against the
types in https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#scheduling. The table of rules
for the objects checks the operators and the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields


def _check(view: View) -> Iterator[Finding]:
    paths: list[Path] = [("affinity",), *(("roles", role.name, "affinity") for role in view.roles)]
    for path in paths:
        affinity = data_path.at(view.values, path)
        # Most affinities are empty. An empty affinity does not need the table of fields, which takes time to load.
        for misfit in kubernetes_fields.misfits(path, affinity, "Affinity", view.text) if affinity else ():
            yield Finding(misfit.path, misfit.message)


RULES: Final = (Rule("affinity", "error", "An affinity has a shape that Kubernetes does not accept.", _check),)
