"""Prints advice for jobs without ``gitops``. The user adds the advised lines to a hand-written GitOps object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.targets.gitops import REPLICAS, ChangedField
from tfgen.words import count, either

_MOST: Final = 3
"""Maximum number of jobs that the advice names."""

_PAGE: Final = "docs/gitops.md#an-application-or-a-kustomization-of-your-own"


def gitops_advice(jobs: Mapping[str, Sequence[ChangedField]]) -> str:
    """Return a line about the fields that a hand-written Application or Kustomization must ignore.

    The result is empty if no job has such fields.

    Args:
        jobs: the fields that a controller in the cluster changes, by name of the job.
    """
    fields = dict.fromkeys(field for of_job in jobs.values() for field in of_job)
    if not fields:
        return ""
    names = [name for name, of_job in jobs.items() if of_job]
    subject = either(names, "and") if len(names) <= _MOST else count(len(names), "job")
    suspended = [(kind, field) for _, kind, field in fields if field != REPLICAS]
    needs = ["set RespectIgnoreDifferences=true"] if len(suspended) < len(fields) else []
    needs += [f"ignore {field} of each {kind}" for kind, field in suspended]
    effects = ["starts the tasks of a finished run again"] if len(suspended) < len(fields) else []
    effects += ["stops a run that has left its queue"] if suspended else []
    return (
        f"note: {subject}: gitops is not set. A hand-written Application must {either(needs, 'and')}; otherwise "
        f"each sync {' and '.join(effects)}. For Flux, and for Argo CD before 3.6: {_PAGE}\n"
    )
