"""The paths that a job's files may have below the output folder. A ledger that lists a different path is invalid.

charts/NAME/...  overlays/NAME/...                        the chart and the overlays
overlays/argocd/NAME-ENV.yaml  overlays/flux/[CLUSTER/]NAME-ENV.yaml
                                                          the GitOps objects of the job
overlays/argocd/{applicationset-ENV,patches/argocd-cm}.yaml
overlays/flux/[CLUSTER/]{gitrepository-tfgen-DIGEST,namespace-NAME}.yaml
                                                          the GitOps objects that several jobs share
overlays/argocd/.gitkeep  overlays/flux/[CLUSTER/].gitkeep
                                                          an empty file, so that git keeps the folder without a job
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

CHARTS: Final = "charts"
OVERLAYS: Final = "overlays"
TOOLS: Final = ("argocd", "flux")
"""Names of the folders of the GitOps tools in overlays/. No job may have such a name."""
ARGOCD: Final = f"{OVERLAYS}/{TOOLS[0]}"
FLUX: Final = f"{OVERLAYS}/{TOOLS[1]}"

JOB_FILE: Final = "job.yaml"
JOB_SCHEMA: Final = "job.schema.json"
"""File name of the job schema that editors read without a network, next to job.yaml or in schemas/ of a repository."""

HOOKS: Final = ".pre-commit-config.yaml"
GITHUB_WORKFLOW: Final = ".github/workflows/tfgen.yaml"
GITHUB_OWNERS: Final = ".github/CODEOWNERS"
GITLAB_PIPELINE: Final = ".gitlab-ci.yml"
GITLAB_OWNERS: Final = ".gitlab/CODEOWNERS"
PROJECTS: Final = "projects"
REPOSITORY_FILES: Final = (
    "tfgen.yaml",
    f"schemas/{JOB_SCHEMA}",
    "schemas/tfgen.schema.json",
    ".gitattributes",
    ".gitignore",
    HOOKS,
    GITHUB_WORKFLOW,
    GITHUB_OWNERS,
    GITLAB_PIPELINE,
    GITLAB_OWNERS,
)
"""The files that `tfgen init --repo` writes for the whole repository, without the Argo CD projects in projects/."""

EXTENDED_FILES: Final = (".gitattributes", ".gitignore", GITHUB_OWNERS, GITLAB_OWNERS)
"""The files among REPOSITORY_FILES to which `tfgen init --repo` adds lines if the files exist."""

CHECK_FILES: Final = (HOOKS, GITHUB_WORKFLOW, GITLAB_PIPELINE)
"""The files among REPOSITORY_FILES that run `tfgen check`."""

_SHARED: Final = re.compile(
    rf"{ARGOCD}/(?:applicationset-[^/]+|patches/argocd-cm)\.yaml"
    rf"|{FLUX}/(?:[^/]+/)?(?:gitrepository-tfgen-[0-9a-f]{{8}}|namespace-[^/]+)\.yaml"
)
_PLACEHOLDER: Final = re.compile(rf"(?:{ARGOCD}|{FLUX}(?:/[^/]+)?)/\.gitkeep")


def is_place_of(job: str, path: str) -> bool:
    """Test whether a job may have a file at a path.

    Args:
        job: name of the job.
        path: path relative to the output folder, without "." and "..".
    """
    if job in TOOLS:
        return False
    return is_in_job_folder(job, path) or _is_delivery_of(job, path) or is_shared(path)


def is_shared(path: str) -> bool:
    """Test whether several jobs may share the file at a path."""
    return bool(_SHARED.fullmatch(path)) or is_placeholder(path)


def is_placeholder(path: str) -> bool:
    """Test whether the path is that of the empty file in a folder of a GitOps tool.

    tfgen never removes this file. Without the file, the folder would disappear from git with the last job. Argo CD and
    Flux apply nothing from a missing folder, so they would not delete the objects of the last job.
    """
    return bool(_PLACEHOLDER.fullmatch(path))


def placeholders(paths: Iterable[str]) -> set[str]:
    """Return the paths of the empty files in the folders of the GitOps tools that contain the given files.

    >>> sorted(placeholders(["overlays/flux/eu/mnist-prod.yaml", "overlays/mnist/base/chief.yaml"]))
    ['overlays/flux/eu/.gitkeep']
    """
    return {file for path in paths if is_placeholder(file := f"{path.rpartition('/')[0]}/.gitkeep")}


def is_in_job_folder(job: str, path: str) -> bool:
    """Test whether a file is in the chart folder or the overlay folder of the job."""
    return path.startswith((f"{CHARTS}/{job}/", f"{OVERLAYS}/{job}/"))


def job_folder(path: str) -> str | None:
    """Return the job's folder that contains a file, such as `charts/NAME`; None for a file outside such a folder."""
    steps = path.split("/", 2)
    is_in_folder = len(steps) > 2 and steps[0] in (CHARTS, OVERLAYS) and steps[1] not in TOOLS
    return f"{steps[0]}/{steps[1]}" if is_in_folder else None


def name_places(job: str) -> str:
    """Return the paths that a job's files may have, as text for a message."""
    tools = ", ".join(f"{folder}/{job}-*.yaml" for folder in (ARGOCD, FLUX))
    return f"{CHARTS}/{job}/, {OVERLAYS}/{job}/, {tools} and the shared files of the GitOps tools"


def _is_delivery_of(job: str, path: str) -> bool:
    """Test whether `path` is the path of the GitOps object of an environment of the job."""
    folder, _, name = path.rpartition("/")
    parent, _, cluster = folder.rpartition("/")
    is_in_tool = folder in (ARGOCD, FLUX) or (parent == FLUX and cluster != "")
    environment = name.removeprefix(f"{job}-").removesuffix(".yaml")
    return is_in_tool and environment != "" and name == f"{job}-{environment}.yaml"
