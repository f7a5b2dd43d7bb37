"""What a team's tfgen.yaml says, and what becomes of it in a job: tolerations that go, an environment that comes."""

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
    own: list[tuple[Path, Any]] = [((_TOLERATIONS,), view.values[_TOLERATIONS])]
    own += [(("roles", role.name, _TOLERATIONS), view.values["roles"][role.name][_TOLERATIONS]) for role in view.roles]
    for where, tolerations in own:
        missing = [toleration for toleration in default if toleration not in tolerations]
        if missing and (tolerations or where == (_TOLERATIONS,)):
            message = (
                f"{path_name(where)} takes the place of those of {view.document.under.place(path)}, and lacks "
                f"{shown(missing[0])}; repeat it here, or leave this out"
            )
            yield Finding(where, message)


def _default_tolerations(view: View) -> tuple[Path, Any]:
    """Where the defaults say tolerations for this form of the job, and which; None where they do not."""
    data = view.document.under.data if view.document.under else {}
    shared: Path = ("spec", _TOLERATIONS)
    of_form: Path = ("spec", "environments", view.environment or "", _TOLERATIONS)
    path = of_form if data_path.has(data, of_form) else shared
    return path, data_path.at(data, path)


def _environments_of_all(view: View) -> Iterator[Finding]:
    if view.environment is not None or view.document.under is None:
        return
    own = data_path.at(own_data(view.document), ("spec", "environments"))
    for name in view.spec.get("environments", {}) if own else ():
        if name not in own:
            message = (
                f"each job below runs in the environment {name} too, those too that name only others; a job that does "
                f"not says {name}: {{enabled: false}} or {name}: null in its environments"
            )
            yield Finding(("environments", name), message)


RULES = (
    Rule(
        "environment-of-all",
        "warning",
        "A team's defaults start a job in an environment that the job does not name.",
        _environments_of_all,
    ),
    Rule(
        "tolerations-replaced",
        "warning",
        "A job's tolerations take the place of those in a team's defaults.",
        _replaced_tolerations,
    ),
)
