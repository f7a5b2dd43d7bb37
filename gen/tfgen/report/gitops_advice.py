"""Prints advice for jobs without ``gitops``. The user adds the advised lines to a hand-written GitOps object."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from tfgen.targets.gitops.delivery import ChangedField
from tfgen.targets.gitops.gitops import flux_ignore, ignore_differences
from tfgen.text.yaml_text import dump
from tfgen.words import count, either

_MOST: Final = 3
"""Maximum number of jobs that the advice names."""


def gitops_advice(jobs: Mapping[str, Sequence[ChangedField]]) -> str:
    """Return the lines that a hand-written Application or Kustomization needs; empty if no job needs such lines.

    Args:
        jobs: the fields that a controller in the cluster changes, by name of the job.
    """
    fields = dict.fromkeys(field for of_job in jobs.values() for field in of_job)
    if not fields:
        return ""
    names = [name for name, of_job in jobs.items() if of_job]
    subject = either(names, "and") if len(names) <= _MOST else count(len(names), "job")
    application = {
        "ignoreDifferences": ignore_differences(fields),
        "syncPolicy": {"syncOptions": ["RespectIgnoreDifferences=true"]},
    }
    return (
        f"note: {subject}: gitops is not set. A hand-written Application or Kustomization {_effect(fields)}.\n"
        f"To the spec of an Application of Argo CD, add:\n\n{_indented(application)}\n"
        f"To the spec of a Kustomization of Flux, add:\n\n{_indented({'ignore': flux_ignore(fields)})}"
    )


def _effect(fields: Mapping[ChangedField, None]) -> str:
    """Return the harm of a sync without the advised lines, such as "starts the tasks of a finished run again"."""
    scaled = any(field == "/spec/replicas" for _, _, field in fields)
    started = any(field != "/spec/replicas" for _, _, field in fields)
    effects = {"starts the tasks of a finished run again": scaled, "stops a run that has left its queue": started}
    return " and ".join(effect for effect, happens in effects.items() if happens)


def _indented(data: object) -> str:
    return textwrap.indent(dump(data), "  ")
