"""Subfolders of a volume (`subPath`, `subPathExpr`) that a pod cannot mount.

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
        yield Finding(view.reported_path((*volume, "subPathExpr"), (*volume, "subPath")), finding.message)


def _check_variables(view: View) -> Iterator[Finding]:
    roles_by_reference: dict[tuple[str, str], list[RoleName]] = {}
    variables_by_role: dict[RoleName, set[str]] = {}
    for role in view.roles:
        referring = {n: v["subPathExpr"] for n, v in view.volumes(role.name).items() if v.get("subPathExpr")}
        if not referring or view.effective_field(role.name, "envFrom")[1]:
            continue  # envFrom may set any variable.
        variables_by_role[role.name] = set(_variables(view, role.name))
        for volume, text in referring.items():
            for target in find_references(text):
                if target not in variables_by_role[role.name]:
                    roles_by_reference.setdefault((volume, target), []).append(role.name)
    for (volume, target), roles in roles_by_reference.items():
        message = (
            f"storage.{volume}.subPathExpr refers to $({target}), but the pods of {either(roles, 'and')} do not "
            f"set {target}, so the pods would not start{_hint(view, target, variables_by_role[roles[0]])}"
        )
        yield Finding(("storage", volume, "subPathExpr"), message)


def _variables(view: View, role: RoleName) -> Iterator[str]:
    yield from (variable["name"] for variable in view.variables(role))
    for container in pod_parts.main_container(view, role):
        yield from (pod_parts.name(item) for item in pod_parts.items(container, "env"))


def _hint(view: View, name: str, variables: set[str]) -> str:
    if name == "TASK_INDEX" and not view.job.structure.is_distributed:
        return f"; strategy {view.job.structure.strategy} has one task, which has no index"
    return did_you_mean(name, sorted(variables)) or "; set the variable in env"


RULES: Final = (
    Rule("sub-path-twice", "error", "A volume has both subPath and subPathExpr.", _check_both),
    Rule(
        "sub-path-variable",
        "error",
        "subPathExpr refers to a variable that the container does not set.",
        _check_variables,
    ),
)
