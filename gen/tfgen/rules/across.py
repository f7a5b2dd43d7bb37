"""Rules that compare several jobs. To keep `tfgen check` fast, they import only the modules that a record needs."""

from __future__ import annotations

from typing import Final

from tfgen.rules import cluster_wide, duplicate_job, gitops, shared_object
from tfgen.rules.rule import AcrossRule

ACROSS: Final[tuple[AcrossRule, ...]] = (
    *cluster_wide.RULES,
    *duplicate_job.RULES,
    *gitops.RULES,
    *shared_object.RULES,
)
