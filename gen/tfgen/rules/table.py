"""Table of the rules that check a single job, and each environment of the job."""

from __future__ import annotations

from typing import Final

from tfgen.rules import guarded, images, objects, pod_fields, programs, roles, scheduling, security, storage
from tfgen.rules.rule import Rule

_MODULES: Final = (images, objects, pod_fields, programs, roles, scheduling, security, storage)

RULES: Final[tuple[Rule, ...]] = (
    *(item for module in _MODULES for item in vars(module).values() if isinstance(item, Rule)),
    *guarded.RULES,
)
"""Each function with the decorator `rule` in one of the modules, and the rules that check a guard."""
