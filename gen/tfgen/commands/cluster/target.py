"""The namespace that receives a job's objects, and the requests for one object in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from tfgen.change.field_diff import FieldChange
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import NOT_FOUND, Api, ApiError, Resource
from tfgen.live.declared_run import Identity
from tfgen.live.owner import owner_of
from tfgen.record import Record

MANAGER: Final = "tfgen"
_APPLY: Final = "application/apply-patch+yaml"
_BACKGROUND: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
CLAIM: Final = ("v1", "PersistentVolumeClaim")

ChangeOutcome: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "kept", "left"]
"""The outcome for an object. kept: a claim, or an object of another environment. left: tfgen did not create it."""


class ObjectChange(Record):
    """The outcome for an object, with the fields that change.

    Attributes:
        identity: the object.
        outcome: the outcome.
        fields: the fields that change.
        reason: the reason why the object is left or kept; empty for a claim and for the remaining outcomes.
    """

    identity: Identity
    outcome: ChangeOutcome
    fields: tuple[FieldChange, ...] = ()
    reason: str = ""


class Neighbor(Record):
    """An environment of a job that may share the namespace of another environment.

    Attributes:
        environment: the name of the environment; None for the job without an environment.
        end: the object whose end is the end of the run; None for a job without such an object.
        objects: the objects of the environment.
    """

    environment: str | None
    end: Identity | None
    objects: tuple[Identity, ...]

    @property
    def title(self) -> str:
        """The environment as text for messages."""
        return f"the environment {self.environment}" if self.environment else "the job without an environment"


class Target(Record):
    """The namespace that receives a job's objects.

    Attributes:
        api: the API server.
        namespace: the namespace.
        job: the name of the job.
        rerun: the command that writes the name of the next run into the job file.
        environment: the environment; None for the job without an environment.
        neighbors: the remaining environments of the job.
        is_forced: whether tfgen takes over fields and objects of another manager.
    """

    api: Api
    namespace: str
    job: str
    rerun: str
    environment: str | None = None
    neighbors: tuple[Neighbor, ...] = ()
    is_forced: bool = False


class RefusedError(Exception):
    """An object that tfgen changes only with --force."""


def find_object(target: Target, item: Identity) -> Object | None:
    """Return an object; None where the server has no such object, or no such kind.

    Raises:
        ApiError: the account may not read the object.
        TfgenError: the server does not answer in time.
    """
    resource = target.api.resource(*item[:2])
    if resource is None:
        return None
    try:
        live: Object = target.api.data("GET", resource.at(target.namespace, item[2]))
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return None
    return live


def apply_object(target: Target, item: Object, *, is_dry_run: bool) -> Object:
    """Apply an object on the server, and return the result. A dry run changes nothing.

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
    """Delete an object. An object that does not exist is no error.

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
    """Sort objects for an apply. Objects that pods need at their start come first, as in the sync waves of Argo CD."""
    return sorted(
        objects, key=lambda item: not keys.BEFORE_PODS.items() <= item["metadata"].get("annotations", {}).items()
    )


def check_owner(target: Target, live: Object) -> None:
    """Refuse an object that Argo CD, Flux or Helm manages.

    Raises:
        RefusedError: a tool manages the object, and the user did not pass --force.
    """
    owner = owner_of(live)
    if owner and not target.is_forced:
        raise RefusedError(
            f"{name_of(identity(live))}: {owner} manages the object; commit the change to git, or add --force to take "
            "the object over"
        )


def is_kept(live: Object) -> bool:
    """Test whether an object stays when its job is deleted: a claim, or an object with annotations to keep it."""
    annotations = live["metadata"].get("annotations") or {}
    return identity(live)[:2] == CLAIM or keys.KEEP.items() <= annotations.items()


def name_of(item: Identity) -> str:
    """Return the kind and the name of an object."""
    return f"{item[1]} {item[2]}"


def _resource(target: Target, item: Identity) -> Resource:
    resource = target.api.resource(*item[:2])
    if resource is None:
        raise ApiError(
            NOT_FOUND, f"the cluster has no kind {item[1]} of {item[0]}; install its custom resource definition"
        )
    return resource
