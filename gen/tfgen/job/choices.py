"""The allowed values of job fields: roles, strategies, schedulers, Pod Security profiles and outputs."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from tfgen.kubernetes.volume_profiles import PROFILES, Profile

__all__ = [
    "OUTPUTS",
    "PROFILES",
    "ROLE_NAMES",
    "Output",
    "Profile",
    "RoleName",
    "Scheduler",
    "Strategy",
]

RoleName: TypeAlias = Literal["chief", "ps", "worker", "evaluator"]
ROLE_NAMES: tuple[RoleName, ...] = get_args(RoleName)
Strategy: TypeAlias = Literal["ParameterServer", "MultiWorkerMirrored", "KerasDistribution", "Single"]
Scheduler: TypeAlias = Literal["volcano", "kube-batch", "coscheduling", "kubernetes", "kueue"]
Output: TypeAlias = Literal["charts", "overlays"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
"""The outputs of a job. Each output is the name of a folder that tfgen writes."""
