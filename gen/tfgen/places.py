"""The places of a job below the output folder: what is elsewhere is never a job's, whatever its ledger says.

charts/NAME/...  overlays/NAME/...                        the chart and the overlays
overlays/argocd/NAME-ENV.yaml  overlays/flux/[CLUSTER/]NAME-ENV.yaml
                                                          what a GitOps tool applies the job by
overlays/argocd/{applicationset-ENV,patches/argocd-cm}.yaml
overlays/flux/[CLUSTER/]{gitrepository-tfgen-DIGEST,namespace-NAME}.yaml
                                                          the same of several jobs
"""

from __future__ import annotations

import re
from typing import Final

CHARTS: Final = "charts"
OVERLAYS: Final = "overlays"
TOOLS: Final = ("argocd", "flux")
"""The folders of overlays/ that are the GitOps tools', so that no job has such a name."""
ARGOCD: Final = f"{OVERLAYS}/{TOOLS[0]}"
FLUX: Final = f"{OVERLAYS}/{TOOLS[1]}"

JOB_SCHEMA: Final = "job.schema.json"
"""Beside job.yaml, or in schemas/ of a repository, so that editors check and complete jobs offline."""

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
    ".pre-commit-config.yaml",
    GITHUB_WORKFLOW,
    GITHUB_OWNERS,
    GITLAB_PIPELINE,
    GITLAB_OWNERS,
)
"""The files that `tfgen init --repo` writes for the whole repository. Each folder of projects/ has further ones."""

EXTENDED_FILES: Final = (".gitattributes", ".gitignore", GITHUB_OWNERS, GITLAB_OWNERS)
"""The files among REPOSITORY_FILES to which `tfgen init --repo` adds lines if the files exist."""

_SHARED: Final = re.compile(
    rf"{ARGOCD}/(?:applicationset-[^/]+|patches/argocd-cm)\.yaml"
    rf"|{FLUX}/(?:[^/]+/)?(?:gitrepository-tfgen-[0-9a-f]{{8}}|namespace-[^/]+)\.yaml"
)


def is_place_of(job: str, path: str) -> bool:
    """Whether a file at this path, relative to the output folder, may be the job's; it has no "." or ".." in it."""
    if job in TOOLS:
        return False
    return is_in_own_folder(job, path) or _is_delivery_of(job, path) or is_shared(path)


def is_shared(path: str) -> bool:
    """Return whether several jobs may have the file at a path."""
    return bool(_SHARED.fullmatch(path))


def is_in_own_folder(job: str, path: str) -> bool:
    """Whether a file is where no other job can have one."""
    return path.startswith((f"{CHARTS}/{job}/", f"{OVERLAYS}/{job}/"))


def own_folder(path: str) -> str | None:
    """The folder that a file is in and that one job has for itself, as `charts/NAME` is; None for any other file."""
    steps = path.split("/", 2)
    is_own = len(steps) > 2 and steps[0] in (CHARTS, OVERLAYS) and steps[1] not in TOOLS
    return f"{steps[0]}/{steps[1]}" if is_own else None


def name_places(job: str) -> str:
    """The places in words, for who named another."""
    tools = ", ".join(f"{folder}/{job}-*.yaml" for folder in (ARGOCD, FLUX))
    return f"{CHARTS}/{job}/, {OVERLAYS}/{job}/, {tools} and the GitOps tools' files of several jobs"


def _is_delivery_of(job: str, path: str) -> bool:
    """Whether a GitOps tool applies one environment of the job by the file."""
    folder, _, name = path.rpartition("/")
    above, _, cluster = folder.rpartition("/")
    is_in_tool = folder in (ARGOCD, FLUX) or (above == FLUX and cluster != "")
    environment = name.removeprefix(f"{job}-").removesuffix(".yaml")
    return is_in_tool and environment != "" and name == f"{job}-{environment}.yaml"
