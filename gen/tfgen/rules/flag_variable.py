"""Variables that both a user and tfgen set, for the programs of TensorFlow 1.

The schema refuses the variables that tfgen sets in every job. This rule refuses the variables that tfgen sets only for
`legacyFlags` or `legacyVariables`.
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
                message = f"tfgen sets the variable {name} because of {key}; rename your variable"
                yield Finding(view.env_path(role.name, name), message)


RULES: Final = (
    Rule("flag-variable", "error", "A variable has a name that legacyFlags or legacyVariables sets.", _check),
)
