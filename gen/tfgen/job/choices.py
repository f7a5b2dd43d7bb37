"""What a job chooses from: the names of its roles, its strategy, its gang's scheduler, its Pod Security profile."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

RoleName: TypeAlias = Literal["chief", "ps", "worker", "evaluator"]
ROLE_NAMES: tuple[RoleName, ...] = get_args(RoleName)
Strategy: TypeAlias = Literal["ParameterServer", "MultiWorkerMirrored", "Single"]
Scheduler: TypeAlias = Literal["volcano", "kube-batch", "coscheduling", "kubernetes", "kueue"]
Profile: TypeAlias = Literal["restricted", "baseline", "privileged"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
"""The Pod Security Standards, the strictest first."""
