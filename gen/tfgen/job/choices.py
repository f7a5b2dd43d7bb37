"""What a job chooses from: its roles, its strategy, its scheduler, its Pod Security profile, its outputs."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

RoleName: TypeAlias = Literal["chief", "ps", "worker", "evaluator"]
ROLE_NAMES: tuple[RoleName, ...] = get_args(RoleName)
Strategy: TypeAlias = Literal["ParameterServer", "MultiWorkerMirrored", "Single"]
Scheduler: TypeAlias = Literal["volcano", "kube-batch", "coscheduling", "kubernetes", "kueue"]
Profile: TypeAlias = Literal["restricted", "baseline", "privileged"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
"""The Pod Security Standards, the strictest first."""
Output: TypeAlias = Literal["charts", "overlays"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
"""What a job is rendered as, by the folders of the output."""
