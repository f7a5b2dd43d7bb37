"""Roles that a strategy needs or does not use, and the role whose task ends the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tfgen.job.training_job import RoleName, Strategy
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import either

_REQUIRED: Final[Mapping[Strategy, Mapping[RoleName, str]]] = {
    # tf.distribute.ParameterServerStrategy requires at least one ps and one worker.
    "ParameterServer": {"ps": "whose tasks hold the variables", "worker": "whose tasks compute"},
    "MultiWorkerMirrored": {"worker": "whose tasks compute and hold all variables"},
    "KerasDistribution": {"worker": "whose tasks compute"},
    "Single": {"chief": "the only task"},
}
_USED: Final[Mapping[Strategy, tuple[RoleName, ...]]] = {
    "ParameterServer": ("chief", "ps", "worker", "evaluator"),
    "MultiWorkerMirrored": ("worker", "evaluator"),
    "KerasDistribution": ("worker",),
    "Single": ("chief",),
}


def _check_required(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role, purpose in _REQUIRED[strategy].items():
        if role not in view.values["roles"]:
            yield Finding(("roles",), f"strategy {strategy} needs the role {role}, {purpose}; add roles.{role}: {{}}")


def _check_used(view: View) -> Iterator[Finding]:
    strategy = view.job.structure.strategy
    for role in view.roles:
        if role.name not in _USED[strategy]:
            used = either(_USED[strategy], "and")
            message = f"strategy {strategy} does not use the role {role.name}, only {used}; remove the key"
            yield Finding(("roles", role.name), message)


def _check_end(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    by, chief = structure.completion, structure.role("chief")
    # Without completion.by, the workload kind determines the task that ends the job, and reports a missing role.
    sets_by = bool(view.spec.get("completion", {}).get("by"))
    if structure.strategy == "ParameterServer" and by == "Chief" and not chief:
        yield Finding(
            ("roles",), "no task ends this job; add roles.chief: {}, or set completion.by to Worker0 or AllWorkers"
        )
    if structure.strategy == "ParameterServer" and by != "Chief" and chief and sets_by:
        yield Finding(
            ("completion", "by"),
            f"completion.by is {by}, so the end of the chief would not end the job; set completion.by to Chief",
        )
    if structure.has_equal_workers and by == "Chief":
        yield Finding(
            ("completion", "by"),
            f"completion.by is Chief, but strategy {structure.strategy} has no chief; set completion.by to Worker0 or "
            "AllWorkers",
        )
    if structure.strategy == "Single" and by != "Chief" and sets_by:
        yield Finding(
            ("completion", "by"),
            f"completion.by is {by}, but strategy Single has no workers; set completion.by to Chief",
        )


def _check_flags(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    for key, is_set in (("legacyFlags", structure.legacy_flags), ("legacyVariables", structure.legacy_variables)):
        if is_set and structure.strategy != "ParameterServer":
            message = (
                f"{key} passes the hosts of ps and worker to the program, but strategy {structure.strategy} has no ps; "
                f"remove {key}"
            )
            yield Finding((key,), message)


RULES: Final = (
    Rule("nothing-ends-the-job", "error", "The job has no task whose exit ends the job.", _check_end),
    Rule("missing-role", "error", "The strategy needs a role that the job does not have.", _check_required),
    Rule("unused-role", "error", "The job has a role that the strategy does not use.", _check_used),
    Rule(
        "legacy-flags",
        "error",
        "The job sets the flags or variables of TensorFlow 1, but its strategy has no parameter servers.",
        _check_flags,
    ),
)
