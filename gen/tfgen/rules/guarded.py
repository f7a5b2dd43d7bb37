"""Rules that check the guards of `graph.guards`. A guard is a condition that the chart also checks at installation.

A rule that checks other data as well, for example a podTemplate, has a separate module, which calls
`find_broken_guards`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from tfgen.data_path import Path
from tfgen.fix import NO_HINT, Hint, assignment, hint
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.holes import ABSENT, Guard
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View

SUMMARIES: Final[Mapping[str, str]] = {
    "eci-spot-price": "The spot strategy needs a maximum price, but the job sets no price.",
    "egress-unlimited": "The job limits egress, but disables the network policy that would limit egress.",
    "elasticdl-priority": "ElasticDL does not accept the priority of the workers.",
    "finisher-name": "The name of the finisher exceeds the maximum length of a label value.",
    "gang-all-workers": (
        "A gang starts before the cluster has enough free resources for all workers, but no worker can train alone."
    ),
    "gang-field": "The scheduler of a gang does not support a key of `gang`.",
    "gang-label": "A name in a label of Kueue or KAI exceeds the maximum length of a label value.",
    "gang-min-available": "A gang waits for more tasks than the gang has.",
    "gang-network-topology": "The network topology of a gang sets both `highestTierAllowed` and `highestTierName`.",
    "gang-queue": "A job whose gang scheduler is Kueue or KAI has no queue.",
    "gang-start-deadline": "A job whose gang scheduler is Kueue has a start deadline.",
    "gang-topology": "A gang sets both `requiredTopology` and `preferredTopology`.",
    "host-name": "The host name of a task exceeds the maximum length of a DNS label.",
    "no-image": "A role has no image.",
    "node-name-and-gang": "A task of a gang sets a node name, so the task skips the gang scheduler.",
    "resume-from": "The job sets `resumeFrom`, but no volume has a separate folder for each run.",
    "root-user": "The programs run as root, which the Pod Security profile restricted refuses.",
    "run-folder": "The name of a run is the name of a folder that a different run uses.",
    "service-account-default": "A job would create the ServiceAccount `default` of a namespace.",
    "service-name": "The name of the Service of a run is not a DNS label.",
    "statefulset-name": "The name of a StatefulSet is too long for the names of its pods.",
    "tensorboard-name": "The name of the TensorBoard objects is too long, or is also the name of a run.",
    "tf-config-size": "TF_CONFIG exceeds the maximum size of an environment variable.",
}


def find_broken_guards(rule: str, view: View) -> Iterator[Finding]:
    """Yield a finding for each guard that fails for a variant. `rule` is the id of the rule to which the guards belong.

    If several guards fail for the same path, yield only the finding with the longest message.
    """
    found: dict[Path, Finding] = {}
    for guard, scope in view.failing_guards(rule):
        steps = guard.at.split(".") if isinstance(guard.at, str) else guard.at
        path: Path = tuple(step for step in (evaluate(step, scope) for step in steps) if step is not ABSENT)
        advice = _ADVICE[rule](guard, view) if rule in _ADVICE else NO_HINT
        finding = Finding(path, f"{evaluate(guard.message, scope)}{advice.text}", fixes=guard.fixes or advice.fixes)
        # A long run name makes the hosts of all roles too long. Report only the longest host.
        found[path] = max(finding, found.get(path, finding), key=lambda item: len(item.message))
    yield from found.values()


def _max_workers(guard: Guard, view: View) -> Hint:
    """Return advice that names the largest number of workers that `guard` accepts. A bisection finds the number."""
    roles = view.values["roles"]

    def too_many(workers: int) -> bool:
        values = {**view.values, "roles": {**roles, "worker": {**roles["worker"], "replicas": workers}}}
        return bool(evaluate(guard.when, Scope(values, release=view.job.name, chart=view.job.name)))

    if "worker" not in roles or too_many(1):
        return NO_HINT
    max_workers = bisect_left(range(roles["worker"]["replicas"]), True, lo=1, key=too_many) - 1
    return Hint(f"; at most {max_workers} workers fit")


def _new_priority_syntax(_guard: Guard, view: View) -> Hint:
    """Return the advice to replace ``high=0.5``, the syntax of ElasticDL in 2020, by ``0.5``."""
    priority: str = view.values["workload"]["elasticDL"]["workerPriority"]
    name, equals, fraction = priority.partition("=")
    path = ("workload", "elasticDL", "workerPriority")
    return hint(assignment(path, fraction, f"write {fraction}")) if equals and name == "high" else NO_HINT


_ADVICE: Final[Mapping[str, Callable[[Guard, View], Hint]]] = {
    "elasticdl-priority": _new_priority_syntax,
    "tf-config-size": _max_workers,
}

RULES: Final = tuple(
    Rule(id_, "error", summary, partial(find_broken_guards, id_)) for id_, summary in SUMMARIES.items()
)
