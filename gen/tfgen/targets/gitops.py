"""What the GitOps tools of a job apply it by: the files of those that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfgen import yaml_text
from tfgen.file_tree import FileTree
from tfgen.job import TrainingJob
from tfgen.plain_object import Object
from tfgen.targets.argocd import argocd
from tfgen.targets.delivery import Delivery, Files, Site
from tfgen.targets.flux import flux


def gitops(job: TrainingJob, environments: Mapping[str, Sequence[Object]]) -> Delivery:
    """The files of a job; none for one without ``gitops``.

    Args:
        job: the job.
        environments: the objects of each environment.
    """
    if job.gitops is None:
        return Delivery({}, {})
    sites = [Site(job, job.gitops, each, tuple(environments[each.name])) for each in job.environments]
    made = [
        *([argocd(sites)] if job.gitops.argocd is not None else []),
        *([flux(sites)] if job.gitops.flux is not None else []),
    ]
    return Delivery(
        {path: objects for each in made for path, objects in each.own.items()},
        {path: objects for each in made for path, objects in each.shared.items()},
    )


def file_tree(files: Files) -> FileTree:
    """The files as text."""
    return FileTree({path: yaml_text.documents(map(dict, objects)) for path, objects in files.items()})
