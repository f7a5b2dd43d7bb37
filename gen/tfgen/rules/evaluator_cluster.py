"""Evaluators that an operator adds to the TF_CONFIG of every task, so that the chief waits for the evaluator.

https://github.com/kubeflow/trainer/issues/650. The chief connects to every task of the cluster, but an evaluator starts
no server. If tfgen writes TF_CONFIG, the evaluator appears only in the TF_CONFIG of the evaluator.
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
    has_config_map = WORKLOADS[structure.kind].has_config_map(structure)
    if not has_config_map and not kinds.lacking(view.spec, path):
        operator, fix = kinds.FACTS[structure.kind].tf_config_setter
        message = (
            f"{operator} adds the evaluator to the TF_CONFIG of every task, so that the chief waits forever for the "
            f"evaluator; {fix}"
        )
        yield Finding(path, message)


RULES: Final = (
    Rule(
        "evaluator-in-cluster",
        "warning",
        "The TF_CONFIG of the chief lists the evaluator, so the chief waits for the evaluator.",
        _check,
    ),
)
