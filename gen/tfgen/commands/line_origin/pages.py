"""The purpose of each object of a job, and the documentation page of each object and of each key of job.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.data_path import Path
from tfgen.job.training_job import ROLE_NAMES
from tfgen.record import Record

ENVIRONMENTS: Final = "docs/environments.md"
RUNS: Final = "docs/runs.md"


class Purpose(Record):
    """The purpose of a generated object.

    Attributes:
        text: the object and its purpose, such as "the JobSet that runs the tasks".
        page: the page of the documentation.
    """

    text: str
    page: str


_WORKLOADS: Final = "docs/workloads.md#kinds"
_NETWORK: Final = "docs/network.md"
_ENDS: Final = "docs/runs.md#how-it-ends"
_BY_NAME: Final[Mapping[str, Purpose]] = {
    "service": Purpose("the Service that gives each task a DNS name", _NETWORK),
    "configmap": Purpose("the ConfigMap that contains the hosts of the tasks", RUNS),
    "networkpolicy": Purpose("the NetworkPolicy that lets only the pods of the run reach the ports", _NETWORK),
    "priorityclass": Purpose("the priority classes of the job", "docs/scheduling.md#priority-classes"),
    "serviceaccount": Purpose("the ServiceAccount of the tasks", "docs/cloud.md#identity-of-the-pods"),
    "object": Purpose("the additional objects of the job", "docs/objects.md"),
    "podgroup": Purpose("the PodGroup that makes the scheduler start all tasks or none", "docs/scheduling.md#gangs"),
    "imagecache": Purpose("the cache of the images on Alibaba Cloud", "docs/cloud.md"),
    "claim": Purpose("the claims for the volumes of the job", "docs/storage.md"),
    "code": Purpose("the ConfigMap that contains the code in the job", "docs/storage.md#code-in-the-job"),
    "run-lock": Purpose("the ConfigMap that contains the program of the run lock", "docs/runs.md#what-a-run-keeps"),
    "finisher": Purpose("the finisher, which releases the tasks after the training", _ENDS),
    "tensorboard": Purpose("the TensorBoard of the job", "docs/live.md"),
    "master": Purpose("the master of an ElasticDL job, which creates the pods of the tasks", _WORKLOADS),
    "jobset": Purpose("the JobSet that runs the tasks", _WORKLOADS),
    "tfjob": Purpose("the TFJob that runs the tasks", _WORKLOADS),
    "volcanojob": Purpose("the Volcano Job that runs the tasks", _WORKLOADS),
    "tests/connection": Purpose("the test of `helm test`", _NETWORK),
    **{role: Purpose(f"the object that runs the tasks of the role {role}", _WORKLOADS) for role in ROLE_NAMES},
}
_BY_SUFFIX: Final = {
    "-poddisruptionbudget": Purpose("the limit on evictions of", "docs/scheduling.md#evictions"),
    "-resourceclaimtemplate": Purpose("the claims for the GPUs of", "docs/gpus.md#dynamic-resource-allocation"),
    "-serviceaccount": Purpose("the ServiceAccount of", _ENDS),
    "-rolebinding": Purpose("the RoleBinding of", _ENDS),
    "-role": Purpose("the Role of", _ENDS),
    "-networkpolicy": Purpose("the NetworkPolicy of", _NETWORK),
    "-configmap": Purpose("the ConfigMap with the program of", _ENDS),
    "-service": Purpose("the Service of", "docs/live.md"),
}

_PAGES: Final = {
    "metadata.name": "docs/git.md#renames-moves-and-merges",
    "spec.serviceAccount": "docs/cloud.md#identity-of-the-pods",
    "spec.storage": "docs/storage.md",
    "spec.code": "docs/storage.md#code-from-git",
    "spec.gang": "docs/scheduling.md#gangs",
    "spec.spot": "docs/scheduling.md#spot-nodes",
    "spec.priorityClassName": "docs/scheduling.md#priority-classes",
    "spec.priorityClasses": "docs/scheduling.md#priority-classes",
    "spec.podDisruptionBudget": "docs/scheduling.md#evictions",
    "spec.placement": "docs/scheduling.md",
    "spec.objects": "docs/objects.md",
    "spec.patches": "docs/patches.md",
    "spec.network": _NETWORK,
    "spec.cloud": "docs/cloud.md",
    "spec.workload": "docs/workloads.md",
    "spec.gitops": "docs/gitops.md",
    "spec.tensorboard": "docs/live.md",
    **{f"spec.roles.{role}.resources.gpu": "docs/gpus.md" for role in ROLE_NAMES},
    **dict.fromkeys(("spec.run", "spec.resumeFrom"), "docs/runs.md#how-it-runs-again"),
    **dict.fromkeys(("spec.retries", "spec.completion", "spec.deadline", "spec.startDeadline"), _ENDS),
    **dict.fromkeys(("spec.roles", "spec.image", "spec.args", "spec.env", "spec.environments"), ENVIRONMENTS),
}


def purpose(name: str) -> Purpose:
    """Return the purpose of an object by the name of its template or file, such as ``finisher-role``."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    for suffix, kind in _BY_SUFFIX.items():
        if name.endswith(suffix) and name.removesuffix(suffix) in _BY_NAME:
            return kind.replaced(text=f"{kind.text} {_BY_NAME[name.removesuffix(suffix)].text}")
    return next(entry for key, entry in _BY_NAME.items() if name.startswith(f"{key}-"))


def page_of_key(path: Path) -> str | None:
    """Return the documentation page of a job key, or of its nearest parent key with a page; None without a page."""
    names = [".".join(map(str, path[:end])) for end in range(len(path), 1, -1)]
    return next((_PAGES[name] for name in names if name in _PAGES), None)
