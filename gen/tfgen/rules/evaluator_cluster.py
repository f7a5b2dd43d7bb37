"""An evaluator that an operator puts into the cluster of all, where TensorFlow's parameter servers wait for it.

https://github.com/kubeflow/trainer/issues/650. The chief connects to every task of its cluster; an evaluator is a
program beside it, which starts no server. Where TF_CONFIG is ours, the evaluator stands in its own alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.workloads import WORKLOADS
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.schema import workload_kinds as kinds


def _check(view: View) -> Iterator[Finding]:
    structure, path = view.job.structure, ("roles", "evaluator")
    if view.environment is not None or structure.strategy != "ParameterServer" or structure.role("evaluator") is None:
        return
    told = WORKLOADS[structure.kind].has_config_map(structure)
    if not told and not kinds.lacking(view.spec, path):
        who, way_out = kinds.FACTS[structure.kind].teller
        message = f"{who} puts the evaluator into every task's TF_CONFIG, for which the chief waits for ever: {way_out}"
        yield Finding(path, message)


RULES: Final = (
    Rule(
        "evaluator-in-cluster",
        "warning",
        "The evaluator stands in the TF_CONFIG of tasks that would wait for it.",
        _check,
    ),
)
