"""Variables that a user sets and that tfgen sets too, for the programs of TensorFlow 1.

Those that every job has are refused by the schema; these only where `legacyFlags` or `legacyVariables` is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    structure = view.job.structure
    key = "legacyVariables" if structure.legacy_variables else "legacyFlags"
    for role in view.roles if structure.legacy_flags or structure.legacy_variables else ():
        printed = Counter(variable["name"] for variable in view.variables(role.name))
        for name in view.env(role.name):
            if printed[name] > 1:
                message = f"with {key} tfgen sets the variable {name} itself; choose another name"
                yield Finding(view.env_path(role.name, name), message)


RULES: Final = (
    Rule("flag-variable", "error", "A variable has the name of one that legacyFlags or legacyVariables set.", _check),
)
