"""Table of the rules that compare several jobs. These rules import few modules, so that `tfgen check` starts fast."""

from __future__ import annotations

from typing import Final

from tfgen.rules import duplicate_job, gitops, shared_object
from tfgen.rules.rule import AcrossRule

ACROSS: Final[tuple[AcrossRule, ...]] = (
    *duplicate_job.RULES,
    *gitops.RULES,
    *shared_object.RULES,
)
