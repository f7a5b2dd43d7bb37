"""Table of the rules that check a single job, and each environment of the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from tfgen.rules import contents, objects, pod_fields, programs, roles, scheduling, security
from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View

GUARDED: Final[Mapping[str, str]] = {
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
"""The summary of each rule that only checks the guards in `graph.guards`. A guard is a condition that the chart also
checks at installation. A rule that checks other data as well calls `View.find_broken_guards`."""


def _check_guards(view: View, rule: str) -> Iterator[Finding]:
    for path, message, fixes in view.find_broken_guards(rule):
        yield Finding(path, message, fixes=fixes)


_MODULES: Final = (contents, objects, pod_fields, programs, roles, scheduling, security)

RULES: Final[tuple[Rule, ...]] = (
    *(item for module in _MODULES for item in vars(module).values() if isinstance(item, Rule)),
    *(Rule(id_, "error", summary, partial(_check_guards, rule=id_)) for id_, summary in GUARDED.items()),
)
"""Each function with the decorator `rule` in one of the modules, and the rules that only check guards."""
