"""Failure rules of a JobSet that the webhook of JobSet refuses.

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
    owner_by_name = {"evaluator": "tfgen's rule for the evaluator"} if "evaluator" in roles else {}
    for index, rule in enumerate(view.values["workload"]["jobSet"]["rules"]):
        path = ("workload", "jobSet", "rules", index)
        name = rule["name"]
        if name in owner_by_name:
            message = (
                f"workload.jobSet.rules: {owner_by_name[name]} already has the name {shown(name)}; choose a different "
                "name"
            )
            yield Finding((*path, "name"), message)
        owner_by_name.setdefault(name, "a previous rule")
        for target_index, target in enumerate(rule.get("targetReplicatedJobs", ())):
            if target not in roles:
                message = (
                    f"workload.jobSet.rules: the job has no role {target}; the roles of the job are "
                    f"{either(roles, 'and')}"
                )
                yield Finding((*path, "targetReplicatedJobs", target_index), message)


RULES: Final = (
    Rule(
        "job-set-rules",
        "error",
        "Two failure policy rules of a JobSet have the same name, or a rule names a role that the job does not have.",
        _check,
    ),
)
