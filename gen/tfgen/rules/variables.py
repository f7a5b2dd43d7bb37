"""Rules about environment variables, and about references to them in commands and volumes."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tfgen.data_path import Path
from tfgen.graph.holes import Node
from tfgen.graph.objects import naming
from tfgen.job.training_job import RoleName, Structure
from tfgen.rules import pod_parts
from tfgen.rules.guarded import find_broken_guards
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.programs import has_shell, list_words
from tfgen.rules.rule import Finding, did_you_mean, rule
from tfgen.rules.view import View
from tfgen.words import either, shown

# -- expansion ---------------------------------------------------------------------------------------------------------
#
# References such as `$(X)`, in variables, commands and arguments, that Kubernetes does not expand.
#
# Kubernetes expands a reference to a variable of envFrom, or to a variable that is set earlier in the list. Kubernetes
# leaves every other reference unchanged, without an error
# (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/). Kubernetes
# converts `$$(X)` to the text `$(X)`. tfgen cannot read the names that envFrom sets, so the rules assume that envFrom
# may set any variable.


_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
_SHORT: Final = 1_000
"""Maximum number of characters in a text for which tfgen caches the references."""


class _Reference(NamedTuple):
    """A reference from one variable to another variable.

    Attributes:
        path: the path of the variable that contains the reference.
        name: the name of the variable that contains the reference.
        target: the name of the other variable.
        order: the position of each variable in the list of the container's variables, as in ``{"A": 0, "B": 1}``.
        has_env_from: True if envFrom may set more variables.
    """

    path: Path
    name: str
    target: str
    order: Mapping[str, int]
    has_env_from: bool


def find_references(text: str) -> tuple[str, ...]:
    """Return the names of the variables to which a text refers, without duplicates.

    Example:
        >>> find_references("$(A)/$$(B)/$(A)")
        ('A',)
    """
    return _names_in_short(text) if len(text) <= _SHORT else _names_in(text)


@functools.lru_cache(maxsize=256)  # Several rules search the same text, for each role and environment of a job.
def _names_in_short(text: str) -> tuple[str, ...]:
    return _names_in(text)


def _names_in(text: str) -> tuple[str, ...]:
    # Cut the text after the last bracket. The search for many unclosed "$(" would take quadratic time.
    closed = text[: text.rfind(")") + 1]
    return tuple(name for name in dict.fromkeys(_REFERENCE.findall(closed)) if name)


def measure_expanded(text: str, sizes: Mapping[str, int]) -> int:
    """Return the number of bytes of a text after Kubernetes expands the references.

    Args:
        text: an argument, or the value of a variable.
        sizes: the number of bytes in the value of each variable that is set earlier, by the name of the variable.

    Example:
        >>> measure_expanded("$(A)/$$(B)/$(C)", {"A": 1000})
        1010
    """
    size = len(text.encode())
    if "$" in text:
        closed, tail = text[: text.rfind(")") + 1], text[text.rfind(")") + 1 :]
        for match in _REFERENCE.finditer(closed):
            if match[1] in sizes:
                size += sizes[match[1]] - len(match[0].encode())
            elif match[0] == "$$":
                size -= 1
        size -= tail.count("$$")
    return size


@rule("expansion-order", "error", "A variable refers to a variable that the container sets later.")
def expansion_order(view: View) -> Iterator[Finding]:
    for reference in _references(view):
        if reference.target == reference.name and not reference.has_env_from:
            message = (
                f"the variable {reference.name} refers to itself; write the value of the variable in place of "
                f"$({reference.name})"
            )
            yield Finding(reference.path, message)
        elif reference.order.get(reference.target, -1) > reference.order[reference.name]:
            message = (
                f"the variable {reference.name} refers to $({reference.target}), which is set later (variables with "
                f"references come last, sorted by name); write the value of {reference.target} in its place"
            )
            yield Finding(reference.path, message)


@rule(
    "unknown-variable",
    "warning",
    "A variable, command or argument refers to a variable that the container does not set.",
)
def unknown_variable(view: View) -> Iterator[Finding]:
    yield from _check_words(view)
    for reference in _references(view):
        if reference.target not in reference.order and not reference.has_env_from:
            message = (
                f"the variable {reference.name} refers to $({reference.target}), which is not set; set the variable, "
                f"or write $$({reference.target}) for the plain text{did_you_mean(reference.target, reference.order)}"
            )
            yield Finding(reference.path, message)


def _check_words(view: View) -> Iterator[Finding]:
    for role in view.roles:
        words = [word for word in list_words(view, role.name) if "$(" in word.text]
        if not words or view.effective_field(role.name, "envFrom")[1]:
            continue
        order = _order(view, role.name)
        is_shell = has_shell(view, role.name)
        for word in words:
            for target in find_references(word.text):
                # In a shell, $(date) runs a command. Names of commands are in lower case.
                if target in order or (is_shell and not _VARIABLE.fullmatch(target)):
                    continue
                message = (
                    f"the word {shown(word.text)} refers to $({target}), which is not set; set the variable, or write "
                    f"$$({target}) for the plain text{did_you_mean(target, order)}"
                )
                yield Finding(word.path, message)


def _order(view: View, role: RoleName) -> Mapping[str, int]:
    """Return the position of each variable of a role's main container, in the order in which Kubernetes sets them.

    Example: ``{"DATA_DIR": 0, "SEED": 1}``.
    """
    added = (pod_parts.name(item) for part in pod_parts.main_container(view, role) for item in _env(part))
    names = [*(variable["name"] for variable in view.variables(role)), *added]
    return {name: index for index, name in reversed(list(enumerate(names)))}


def _references(view: View) -> Iterator[_Reference]:
    for role in view.roles:
        referring = {name: value for name, value in view.env(role.name).items() if "$(" in value}
        if not referring:
            continue
        order = _order(view, role.name)
        has_env_from = bool(view.effective_field(role.name, "envFrom")[1])
        for name, value in referring.items():
            for target in find_references(value):
                yield _Reference(view.env_path(role.name, name), name, target, order, has_env_from)


def _env(container: PodPart) -> Iterator[PodPart]:
    return pod_parts.items(container, "env")


# -- sub paths ---------------------------------------------------------------------------------------------------------
#
# Subfolders of a volume (`subPath`, `subPathExpr`) that a pod cannot mount.
#
# https://kubernetes.io/docs/concepts/storage/volumes/#using-subpath-expanded-environment


@rule("sub-path-twice", "error", "A volume has both subPath and subPathExpr.")
def sub_path_twice(view: View) -> Iterator[Finding]:
    for finding in find_broken_guards("sub-path-twice", view):
        volume = finding.path[:-1]
        yield Finding(view.reported_path((*volume, "subPathExpr"), (*volume, "subPath")), finding.message)


@rule("sub-path-variable", "error", "subPathExpr refers to a variable that the container does not set.")
def sub_path_variable(view: View) -> Iterator[Finding]:
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


# -- env duplicate -----------------------------------------------------------------------------------------------------
#
# Variables, labels and annotations that both podTemplate and a key of job.yaml set.
#
# tfgen cannot merge the two settings when it renders a chart, because only Helm knows all keys that the values set.


@rule("env-duplicate", "error", "podTemplate sets a variable, label or annotation that the job also sets.")
def env_duplicate(view: View) -> Iterator[Finding]:
    for role in view.roles:
        added = [item for part in pod_parts.main_container(view, role.name) for item in pod_parts.items(part, "env")]
        job_env = view.env(role.name) if added else {}
        for item in added:
            if (name := pod_parts.name(item)) in job_env:
                yield _duplicate((*item.path, "name"), "variable", name, "env")
        for template in pod_parts.templates(view, role.name):
            for metadata in pod_parts.child(template, "metadata"):
                yield from _keys(view, metadata, "label", naming.pod_labels(), role.name)
                yield from _keys(view, metadata, "annotation", naming.pod_annotations(), role.name)


def _keys(view: View, metadata: PodPart, kind: str, node: Node, role: RoleName) -> Iterator[Finding]:
    field = f"{kind}s"
    for part in pod_parts.child(metadata, field):
        job_keys = view.evaluate_in_role(role, node)
        yield from (_duplicate((*part.path, key), kind, key, field) for key in part.data if key in job_keys)


def _duplicate(path: Path, kind: str, name: str, field: str) -> Finding:
    return Finding(
        path, f"both podTemplate and {field} of the job set the {kind} {name}; set the {kind} only in {field}"
    )


# -- flag variable -----------------------------------------------------------------------------------------------------
#
# Variables that both a user and tfgen set, for the programs of TensorFlow 1 or for keras.distribution.
#
# The schema refuses the variables that tfgen sets in every job. This rule refuses the variables that tfgen sets only
# for `legacyFlags`, `legacyVariables` or the strategy KerasDistribution.


def _cause(structure: Structure) -> str:
    """Return the setting of a job that makes tfgen set additional variables; empty without such a setting."""
    causes = {
        "legacyVariables": structure.legacy_variables,
        "legacyFlags": structure.legacy_flags,
        "strategy KerasDistribution": structure.uses_keras_distribution,
    }
    return next((cause for cause, is_set in causes.items() if is_set), "")


@rule(
    "flag-variable",
    "error",
    "The job sets a variable that legacyFlags, legacyVariables or the strategy KerasDistribution also sets.",
)
def flag_variable(view: View) -> Iterator[Finding]:
    cause = _cause(view.job.structure)
    action = "remove" if view.job.structure.uses_keras_distribution else "rename"
    for role in view.roles if cause else ():
        printed = Counter(variable["name"] for variable in view.variables(role.name))
        for name in view.env(role.name):
            if printed[name] > 1:
                message = f"tfgen sets the variable {name} because of {cause}; {action} your variable"
                yield Finding(view.env_path(role.name, name), message)
