"""What a chart refuses when it is installed: the guards of `objects.guards`, said here for the job's own values.

A rule that says more than the chart, as of a podTemplate, calls `find_broken_guards` itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from tfgen.data_path import Path
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.holes import Guard
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

SUMMARIES: Final[Mapping[str, str]] = {
    "eci-spot-price": "Spot instances are to have a limit of price, and none is said.",
    "egress-unlimited": "Egress is limited, but there is no network policy.",
    "elasticdl-priority": "The workers' priority is none that ElasticDL knows.",
    "finisher-name": "The finisher's name is longer than a label may be.",
    "gang-all-workers": "A gang starts before all workers that train as one can.",
    "gang-field": "A gang says what its scheduler has no word for.",
    "gang-label": "A name that Kueue reads in a label is longer than a label may be.",
    "gang-min-available": "A gang waits for more tasks than there are.",
    "gang-queue": "A job waits in no queue of Kueue's.",
    "gang-start-deadline": "A job that Kueue starts is to start by a time.",
    "gang-topology": "A gang must be in one place and is to be in another.",
    "host-name": "A task's host name is longer than a DNS label.",
    "no-image": "A role has no image.",
    "node-name-and-gang": "A task of a gang is bound to a node past its scheduler.",
    "resume-from": "A run is to go on in another's folder, and there are no folders of runs.",
    "root-user": "The programs run as root, which Pod Security restricted refuses.",
    "run-folder": "A run has the name of another run's folder.",
    "service-account-default": "A job would make the account `default` of a namespace.",
    "service-name": "The name of the run's Service is no DNS label.",
    "statefulset-name": "A StatefulSet's name is too long to make pods.",
    "tensorboard-name": "TensorBoard's name is too long, or a run has it.",
    "tf-config-size": "TF_CONFIG is longer than one environment variable may be.",
}


def find_broken_guards(rule: str, view: View) -> Iterator[Finding]:
    """The mistakes that a rule's guards find: one a path."""
    worst: dict[Path, str] = {}
    for guard, scope in view.failing_scopes(rule):
        steps = guard.path.split(".") if isinstance(guard.path, str) else guard.path
        path: Path = tuple(evaluate(step, scope) for step in steps)
        message = f"{evaluate(guard.message, scope)}{_ADVICE.get(rule, _no_advice)(guard, view)}"
        # One run name makes every role's hosts too long: the longest one, and so its message, speaks for all.
        worst[path] = max(message, worst.get(path, ""), key=len)
    yield from map(Finding, worst.keys(), worst.values())


def _no_advice(_guard: Guard, _view: View) -> str:
    return ""


def _workers_that_fit(guard: Guard, view: View) -> str:
    """How many workers the job could have, all else as it is: by search, since only the guard itself counts bytes."""
    roles = view.values["roles"]

    def too_many(workers: int) -> bool:
        values = {**view.values, "roles": {**roles, "worker": {**roles["worker"], "replicas": workers}}}
        return bool(evaluate(guard.test, Scope(values, release=view.job.name, chart=view.job.name)))

    if "worker" not in roles or too_many(1):
        return ""
    fit = bisect_left(range(roles["worker"]["replicas"]), True, lo=1, key=too_many) - 1
    return f"; {fit} workers fit"


def _new_form(_guard: Guard, view: View) -> str:
    """ElasticDL's form of 2020, ``high=0.5``, in the form that took its place."""
    priority: str = view.values["workload"]["elasticDL"]["workerPriority"]
    name, equals, fraction = priority.partition("=")
    return f"; write {fraction}" if equals and name == "high" else ""


_ADVICE: Final[Mapping[str, Callable[[Guard, View], str]]] = {
    "elasticdl-priority": _new_form,
    "tf-config-size": _workers_that_fit,
}

RULES: Final = tuple(
    Rule(id_, "error", summary, partial(find_broken_guards, id_)) for id_, summary in SUMMARIES.items()
)
