"""Writes the files for each GitOps tool that a job names."""

from __future__ import annotations

from collections.abc import Mapping

from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes.object import Object
from tfgen.targets.gitops.argocd import argocd
from tfgen.targets.gitops.delivery import Delivery, DeployedVariant, Files
from tfgen.targets.gitops.flux import flux
from tfgen.text import yaml_text


def gitops(job: TrainingJob, environments: Mapping[str, Mapping[str, Object]]) -> Delivery:
    """Return the GitOps files of a job. A job without ``gitops`` has no such files.

    Args:
        job: the job.
        environments: the objects of each environment. Example: {"prod": {"worker": {"kind": "StatefulSet", ...}}}.
    """
    if job.gitops is None:
        return Delivery({}, {})
    variants = [
        DeployedVariant(job, job.gitops, environment, tuple(environments[environment.name].values()))
        for environment in job.environments
    ]
    deliveries = [
        *([argocd(variants)] if job.gitops.argocd is not None else []),
        *([flux(variants)] if job.gitops.flux is not None else []),
    ]
    return Delivery(
        {path: objects for delivery in deliveries for path, objects in delivery.job_files.items()},
        {path: objects for delivery in deliveries for path, objects in delivery.shared_files.items()},
    )


def yaml_texts(files: Files) -> dict[str, str]:
    """Return the YAML text of each file in `files`. The text contains the objects of the file."""
    return {path: yaml_text.documents(map(dict, objects)) for path, objects in files.items()}
