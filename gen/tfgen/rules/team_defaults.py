"""Defaults in a tfgen.yaml that have a surprising effect, such as an environment which every job of the folder gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.job.facts import own_data
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import path_name, shown

_TOLERATIONS = "tolerations"


def _replaced_tolerations(view: View) -> Iterator[Finding]:
    path, default = _default_tolerations(view)
    if not default or view.document.under is None:
        return
    lists: list[tuple[Path, Any]] = [((_TOLERATIONS,), view.values[_TOLERATIONS])]
    lists += [
        (("roles", role.name, _TOLERATIONS), view.values["roles"][role.name].get(_TOLERATIONS, []))
        for role in view.roles
    ]
    for list_path, tolerations in lists:
        missing = [toleration for toleration in default if toleration not in tolerations]
        if missing and (tolerations or list_path == (_TOLERATIONS,)):
            message = (
                f"{path_name(list_path)} replaces the tolerations of {view.document.under.place(path)}, but lacks "
                f"{shown(missing[0])}; add the toleration, or remove this list"
            )
            yield Finding(list_path, message)


def _default_tolerations(view: View) -> tuple[Path, Any]:
    """Return the path and the value of the tolerations that a tfgen.yaml sets for this variant.

    If no tfgen.yaml sets tolerations, the value is None.
    """
    data = view.document.under.data if view.document.under else {}
    shared: Path = ("spec", _TOLERATIONS)
    in_environment: Path = ("spec", "environments", view.environment or "", _TOLERATIONS)
    path = in_environment if data_path.has(data, in_environment) else shared
    return path, data_path.at(data, path)


def _check_default_environments(view: View) -> Iterator[Finding]:
    if view.environment is not None or view.document.under is None:
        return
    environments = data_path.at(own_data(view.document), ("spec", "environments"))
    for name in view.spec.get("environments", {}) if environments else ():
        if name not in environments:
            message = (
                f"every job of this folder runs in the environment {name}, even a job that lists different "
                f"environments; to exclude {name}, set {name}: {{enabled: false}} or {name}: null in the job"
            )
            yield Finding(("environments", name), message)


RULES = (
    Rule(
        "environment-of-all",
        "warning",
        "A tfgen.yaml adds an environment to a job that already lists environments.",
        _check_default_environments,
    ),
    Rule(
        "tolerations-replaced",
        "warning",
        "The tolerations of a job replace the tolerations that a tfgen.yaml sets.",
        _replaced_tolerations,
    ),
)
