"""The rules that several jobs keep together. They load nothing that a job's record does not need."""

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
