"""Variables that both a user and tfgen set, for the programs of TensorFlow 1 or for keras.distribution.

The schema refuses the variables that tfgen sets in every job. This rule refuses the variables that tfgen sets only for
`legacyFlags`, `legacyVariables` or the strategy KerasDistribution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tfgen.job.training_job import Structure
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _cause(structure: Structure) -> str:
    """Return the setting of a job that makes tfgen set additional variables; empty without such a setting."""
    causes = {
        "legacyVariables": structure.legacy_variables,
        "legacyFlags": structure.legacy_flags,
        "strategy KerasDistribution": structure.uses_keras_distribution,
    }
    return next((cause for cause, is_set in causes.items() if is_set), "")


def _check(view: View) -> Iterator[Finding]:
    cause = _cause(view.job.structure)
    action = "remove" if view.job.structure.uses_keras_distribution else "rename"
    for role in view.roles if cause else ():
        printed = Counter(variable["name"] for variable in view.variables(role.name))
        for name in view.env(role.name):
            if printed[name] > 1:
                message = f"tfgen sets the variable {name} because of {cause}; {action} your variable"
                yield Finding(view.env_path(role.name, name), message)


RULES: Final = (
    Rule(
        "flag-variable",
        "error",
        "The job sets a variable that legacyFlags, legacyVariables or the strategy KerasDistribution also sets.",
        _check,
    ),
)
