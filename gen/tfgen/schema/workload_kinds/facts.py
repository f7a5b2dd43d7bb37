"""The facts of a workload kind, as data."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tfgen.record import Record

WorkloadKind: TypeAlias = Literal["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet", "Pod", "ElasticDL"]

CompletionBy: TypeAlias = Literal["Chief", "Worker0", "AllWorkers"]
"""Whose end ends a job."""

Condition: TypeAlias = tuple[str, str | bool] | None
"""A path of the spec and its value, or ``*`` for any value; None for always."""


class Without(Record):
    """What a kind has no place for, and the way out."""

    path: str
    way_out: str
    when: Condition = None


class Only(Record):
    """The values that a kind has a place for, of a key that decides the structure, and why."""

    path: str
    values: tuple[str, ...]
    why: str
    when: Condition = None


class CustomResource(Record):
    """The custom object of a kind, as those who apply it need to know it.

    Attributes:
        group: the API group.
        kind: Kubernetes' kind.
        completed: true of an object that has ended well, in CEL.
        failed: true of an object that has failed, in CEL.
        argocd_health: the name of the check by which Argo CD calls it healthy (targets/gitops/health).
        suspend: the JSON pointer of the field that holds it back; empty where there is none.
        free: the fields that its operator lets change while a run lasts; paths below its spec.
    """

    group: str
    kind: str
    completed: str
    failed: str
    argocd_health: str
    suspend: str = ""
    free: tuple[str, ...] = ()


class Facts(Record):
    """What one kind cannot say of a job, and what is peculiar to its objects.

    Attributes:
        without: what the kind has no place for.
        only: the keys of which it has a place for some values alone.
        own: paths that it has, and most other kinds have not.
        resource: its custom object; None where Kubernetes' own kinds carry the roles.
        controller_keys: labels and annotations that its controllers write on pods: whole keys, or all of a domain's.
        makes_object_a_role: whether each role has an object of its own.
        makes_pods: whether a role's pod is an object of the job itself, and not what a controller makes of one.
        is_admitted_whole: whether Kueue admits all of its roles together.
        default_end: whose end ends a job that does not say it; None for what the strategy says.
        asks_api_server: whether a pod beside the tasks, or before them, asks the API server.
        teller: who tells each task its cluster where tfgen does not, and how to have tfgen tell it.
    """

    without: tuple[Without, ...] = ()
    only: tuple[Only, ...] = ()
    own: tuple[str, ...] = ()
    resource: CustomResource | None = None
    controller_keys: tuple[str, ...] = ()
    makes_object_a_role: bool = False
    makes_pods: bool = False
    is_admitted_whole: bool = False
    default_end: CompletionBy | None = None
    asks_api_server: bool = False
    teller: tuple[str, str] = ("", "")
