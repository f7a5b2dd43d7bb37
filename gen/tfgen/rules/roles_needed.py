"""The roles that a strategy needs, those that it has no use for, and what must end the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tfgen.job.training_job import RoleName, Strategy
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either

_NEEDED: Final[Mapping[Strategy, Mapping[RoleName, str]]] = {
    # tf.distribute.ParameterServerStrategy wants one of each.
    "ParameterServer": {"ps": "whose tasks hold the variables", "worker": "whose tasks compute"},
    "MultiWorkerMirrored": {"worker": "whose tasks compute, each with all variables"},
    "Single": {"chief": "which is its one task"},
}
_USED: Final[Mapping[Strategy, tuple[RoleName, ...]]] = {
    "ParameterServer": ("chief", "ps", "worker", "evaluator"),
    "MultiWorkerMirrored": ("worker", "evaluator"),
    "Single": ("chief",),
}


def _check_needed(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role, what in _NEEDED[strategy].items():
        if role not in view.values["roles"]:
            yield Finding(("roles",), f"strategy {strategy} needs the role {role}, {what}; add roles.{role}: {{}}")


def _check_used(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role in view.roles:
        if role.name not in _USED[strategy]:
            used = either(_USED[strategy], "and")
            yield Finding(
                ("roles", role.name), f"strategy {strategy} has no use for the role {role.name}, only for {used}"
            )


def _check_end(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    by, chief = structure.completion, structure.role("chief")
    says_by = bool(view.spec.get("completion", {}).get("by"))  # else it is the kind's, which says what that asks for
    if structure.strategy == "ParameterServer" and by == "Chief" and not chief:
        yield Finding(
            ("roles",), "nothing ends this job: add roles.chief: {}, or set completion.by to Worker0 or AllWorkers"
        )
    if structure.strategy == "ParameterServer" and by != "Chief" and chief and says_by:
        yield Finding(
            ("completion", "by"), f"completion.by is {by}, but this job has a chief, whose end would end nothing"
        )
    if structure.strategy == "MultiWorkerMirrored" and by == "Chief":
        yield Finding(
            ("completion", "by"),
            "completion.by is Chief, but MultiWorkerMirrored has none; it is Worker0 or AllWorkers",
        )
    if structure.strategy == "Single" and by != "Chief" and says_by:
        yield Finding(
            ("completion", "by"), f"completion.by is {by}, but strategy Single has no workers, only its chief"
        )


def _check_flags(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    for key, is_set in (("legacyFlags", structure.legacy_flags), ("legacyVariables", structure.legacy_variables)):
        if is_set and structure.strategy != "ParameterServer":
            message = f"{key} name ps and workers, which only ParameterServer has, not {structure.strategy}"
            yield Finding((key,), message)


RULES: Final = (
    Rule("nothing-ends-the-job", "error", "No task of the job ends it.", _check_end),
    Rule("missing-role", "error", "The strategy needs a role that the job does not have.", _check_needed),
    Rule("unused-role", "error", "The job has a role that the strategy does not use.", _check_used),
    Rule(
        "legacy-flags",
        "error",
        "The job asks for TensorFlow 1's flags or variables, but its strategy has no parameter servers.",
        _check_flags,
    ),
)
