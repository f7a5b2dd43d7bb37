"""Read, apply and delete single objects in the target namespace of a job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from tfgen.change.field_diff import FieldChange
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import NOT_FOUND, Api, ApiError, Resource, find
from tfgen.live.declared_run import Identity
from tfgen.live.owner import owner_of
from tfgen.record import Record

MANAGER: Final = "tfgen"
_APPLY: Final = "application/apply-patch+yaml"
_BACKGROUND: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
CLAIM: Final = ("v1", "PersistentVolumeClaim")

ChangeOutcome: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "kept", "left"]
"""The name of the outcome of `tfgen apply` or `tfgen delete` for an object.

The outcome `kept` is for a claim, or for an object of another environment. The outcome `left` is for an object that
tfgen did not create.
"""


class ObjectChange(Record):
    """An object, and the outcome of `tfgen apply` or `tfgen delete` for the object.

    Attributes:
        identity: the API version, kind and name of the object.
        outcome: the outcome.
        fields: the fields that change.
        reason: the reason for the outcome `left` or `kept`; may be empty.
    """

    identity: Identity
    outcome: ChangeOutcome
    fields: tuple[FieldChange, ...] = ()
    reason: str = ""


class Neighbor(Record):
    """Another environment of the job, which may be in the same namespace.

    Attributes:
        environment: the name of the environment; None for the job without an environment.
        deciding_object: the object that ends the run, such as the finisher; None for a job without such an object.
        objects: the objects of the environment.
    """

    environment: str | None
    deciding_object: Identity | None
    objects: tuple[Identity, ...]

    @property
    def title(self) -> str:
        """The name of the environment for messages."""
        return f"the environment {self.environment}" if self.environment else "the job without an environment"


class Target(Record):
    """The cluster and namespace for the objects of a job in an environment.

    Attributes:
        api: the client of the API server.
        namespace: the namespace.
        job: the name of the job.
        rerun: the command for a new run, such as "tfgen rerun jobs/mnist", for messages.
        environment: the environment; None for the job without an environment.
        neighbors: the other environments of the job.
        is_forced: whether tfgen takes over fields and objects that another tool manages (--force).
    """

    api: Api
    namespace: str
    job: str
    rerun: str
    environment: str | None = None
    neighbors: tuple[Neighbor, ...] = ()
    is_forced: bool = False


class RefusedError(Exception):
    """Error for an object that tfgen changes only with --force."""


def find_object(target: Target, item: Identity) -> Object | None:
    """Return the cluster's version of an object; None if the object or its kind does not exist.

    Raises:
        ApiError: the user may not read the object.
        TfgenError: the server does not answer in time.
    """
    resource = target.api.resource(*item[:2])
    return find(target.api, resource.at(target.namespace, item[2])) if resource else None


def apply_object(target: Target, item: Object, *, is_dry_run: bool) -> Object:
    """Send an object to the server with server-side apply, and return the server's new version of the object.

    A dry run changes nothing.

    Raises:
        ApiError: the server refuses the object.
        TfgenError: the server does not answer in time.
    """
    query = {
        "fieldManager": MANAGER,
        "fieldValidation": "Strict",
        **({"force": "true"} if target.is_forced else {}),
        **({"dryRun": "All"} if is_dry_run else {}),
    }
    path = _resource(target, identity(item)).at(target.namespace, item["metadata"]["name"])
    applied: Object = target.api.data("PATCH", path, query, item, _APPLY)
    return applied


def delete_object(target: Target, item: Identity) -> None:
    """Delete an object from the cluster. A missing object is no error.

    Raises:
        ApiError: the server refuses the request.
        TfgenError: the server does not answer in time.
    """
    try:
        path = _resource(target, item).at(target.namespace, item[2])
        target.api.data("DELETE", path, {}, _BACKGROUND, "application/json")
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise


def in_apply_order(objects: Iterable[Object]) -> list[Object]:
    """Sort objects for an apply. Objects that a pod needs to start come first, as in the sync waves of Argo CD."""
    return sorted(
        objects, key=lambda item: not keys.BEFORE_PODS.items() <= item["metadata"].get("annotations", {}).items()
    )


def check_owner(target: Target, live: Object) -> None:
    """Raise RefusedError if Argo CD, Flux or Helm manages an object, unless the user passed --force."""
    owner = owner_of(live)
    if owner and not target.is_forced:
        raise RefusedError(
            f"{name_of(identity(live))}: {owner} manages the object; commit the change to git, or add --force to let "
            "tfgen manage the object"
        )


def is_kept(live: Object) -> bool:
    """Return whether `tfgen delete` keeps an object in the cluster.

    tfgen keeps each claim, and each object with all annotations of `keys.KEEP`, such as `helm.sh/resource-policy:
    keep`.
    """
    annotations = live["metadata"].get("annotations") or {}
    return identity(live)[:2] == CLAIM or keys.KEEP.items() <= annotations.items()


def has_job_labels(live: Object, job: str) -> bool:
    """Return whether an object has the two labels that tfgen sets on all objects of a job."""
    labels = live["metadata"].get("labels") or {}
    return {keys.NAME: job, keys.MANAGED_BY: MANAGER}.items() <= labels.items()


def foreign_reason(live: Object, job: str) -> str:
    """Return the reason why tfgen does not change an object that the job did not create."""
    owner = owner_of(live)
    manager = f", and {owner} manages it" if owner else ""
    return f"the job {job} did not create the object{manager}"


def name_of(item: Identity) -> str:
    """Return the kind and the name of an object as text, such as "ConfigMap mnist"."""
    return f"{item[1]} {item[2]}"


def _resource(target: Target, item: Identity) -> Resource:
    resource = target.api.resource(*item[:2])
    if resource is None:
        raise ApiError(
            NOT_FOUND, f"the cluster has no kind {item[1]} of {item[0]}; install its custom resource definition"
        )
    return resource
