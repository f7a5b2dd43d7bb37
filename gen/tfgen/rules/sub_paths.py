"""Folders within a volume that no pod could mount.

https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath-expanded-environment
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.expansion import find_references
from tfgen.rules.finding import Finding
from tfgen.rules.guarded import find_broken_guards
from tfgen.rules.rule import Rule, did_you_mean
from tfgen.rules.view import View
from tfgen.words import either


def _check_both(view: View) -> Iterator[Finding]:
    for finding in find_broken_guards("sub-path-twice", view):
        volume = finding.path[:-1]
        yield Finding(view.blamed((*volume, "subPathExpr"), (*volume, "subPath")), finding.message)


def _check_variables(view: View) -> Iterator[Finding]:
    lacking: dict[tuple[str, str], list[RoleName]] = {}
    known: dict[RoleName, set[str]] = {}
    for role in view.roles:
        referring = {n: v["subPathExpr"] for n, v in view.volumes(role.name).items() if v.get("subPathExpr")}
        if not referring or view.effective(role.name, "envFrom")[1]:
            continue  # what comes out of envFrom is not known here
        known[role.name] = set(_variables(view, role.name))
        for volume, text in referring.items():
            for to in find_references(text):
                if to not in known[role.name]:
                    lacking.setdefault((volume, to), []).append(role.name)
    for (volume, to), roles in lacking.items():
        message = (
            f"storage.{volume}.subPathExpr refers to $({to}), which is no variable of {either(roles, 'and')}: "
            f"the pods would not start{_hint(view, to, known[roles[0]])}"
        )
        yield Finding(("storage", volume, "subPathExpr"), message)


def _variables(view: View, role: RoleName) -> Iterator[str]:
    yield from (variable["name"] for variable in view.variables(role))
    for container in pod_parts.main_container(view, role):
        yield from (pod_parts.name(item) for item in pod_parts.items(container, "env"))


def _hint(view: View, name: str, known: set[str]) -> str:
    if name == "TASK_INDEX" and not view.job.structure.is_distributed:
        return f"; only the tasks of a cluster have an index, and strategy {view.job.structure.strategy} has one task"
    return did_you_mean(name, sorted(known))


RULES: Final = (
    Rule("sub-path-twice", "error", "A volume has both subPath and subPathExpr.", _check_both),
    Rule("sub-path-variable", "error", "A folder is named by a variable that is not set.", _check_variables),
)
