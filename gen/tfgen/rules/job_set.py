"""Rules of a JobSet's failures that its webhook refuses.

https://github.com/kubernetes-sigs/jobset/blob/v0.12.0/pkg/webhooks/jobset_webhook.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either, shown


def _check(view: View) -> Iterator[Finding]:
    roles = [role.name for role in view.roles]
    names = {"evaluator": "tfgen's own for the evaluator"} if "evaluator" in roles else {}
    for index, rule in enumerate(view.values["workload"]["jobSet"]["rules"]):
        path = ("workload", "jobSet", "rules", index)
        name = rule["name"]
        if name in names:
            yield Finding(
                (*path, "name"), f"workload.jobSet.rules: the name {shown(name)} is {names[name]}; choose another name"
            )
        names.setdefault(name, "another rule's")
        for place, target in enumerate(rule.get("targetReplicatedJobs", ())):
            if target not in roles:
                message = f"workload.jobSet.rules: {target} is none of the job's roles; it has {either(roles, 'and')}"
                yield Finding((*path, "targetReplicatedJobs", place), message)


RULES: Final = (
    Rule(
        "job-set-rules", "error", "Two rules of a JobSet have one name, or one is for a role that is not there.", _check
    ),
)
