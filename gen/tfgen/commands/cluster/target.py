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

Fate: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "kept", "left"]
"""The result for an object. kept: a claim, or an object of another environment. left: tfgen did not create it."""


class ObjectChange(Record):
    """The result for an object, with its fields that change.

    Attributes:
        reason: the reason why the object is left or kept; empty for a claim and for every other result.
    """

    identity: Identity
    fate: Fate
    fields: tuple[FieldChange, ...] = ()
    reason: str = ""


class Neighbor(Record):
    """An environment of a job that may share the namespace of another environment.

    Attributes:
        environment: None for the job without an environment.
        end: the object by whose end the run ends; None where the job has none.
        objects: the objects of the environment.
    """

    environment: str | None
    end: Identity | None
    objects: tuple[Identity, ...]

    @property
    def title(self) -> str:
        """The environment in words."""
        return f"the environment {self.environment}" if self.environment else "the job without an environment"


class Target(Record):
    """The namespace that receives a job's objects.

    Attributes:
        job: the job's name.
        environment: None for the job without an environment.
        neighbors: the environments of the job beside this one.
        rerun: the command that gives the job's next run its name.
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
    """An object that tfgen does not change, unless by force."""


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


def apply_object(target: Target, item: Object, *, is_trial: bool) -> Object:
    """Apply an object on the server, and return the result. A trial changes nothing.

    Raises:
        ApiError: the server refuses the object.
        TfgenError: the server does not answer in time.
    """
    query = {
        "fieldManager": MANAGER,
        "fieldValidation": "Strict",
        **({"force": "true"} if target.is_forced else {}),
        **({"dryRun": "All"} if is_trial else {}),
    }
    path = _resource(target, identity(item)).at(target.namespace, item["metadata"]["name"])
    applied: Object = target.api.data("PATCH", path, query, item, _APPLY)
    return applied


def delete_object(target: Target, item: Identity) -> None:
    """Delete an object; an object that is gone already is no error.

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
    """Sort a job's objects for an apply: objects that pods need at their start come first, as in Argo CD's waves."""
    return sorted(
        objects, key=lambda item: not keys.BEFORE_PODS.items() <= item["metadata"].get("annotations", {}).items()
    )


def check_owner(target: Target, live: Object) -> None:
    """Refuse an object that Argo CD, Flux or Helm manages.

    Raises:
        RefusedError: such a tool manages the object, and the user did not pass --force.
    """
    owner = owner_of(live)
    if owner and not target.is_forced:
        raise RefusedError(
            f"{name_of(identity(live))}: {owner} looks after it; commit the change, or take it over by --force"
        )


def is_kept(live: Object) -> bool:
    """Test whether an object outlives its job: a claim, and an object that every tool is to keep."""
    annotations = live["metadata"].get("annotations") or {}
    return identity(live)[:2] == CLAIM or keys.KEEP.items() <= annotations.items()


def name_of(item: Identity) -> str:
    """Return the kind and the name of an object."""
    return f"{item[1]} {item[2]}"


def _resource(target: Target, item: Identity) -> Resource:
    resource = target.api.resource(*item[:2])
    if resource is None:
        raise ApiError(NOT_FOUND, f"the cluster has no kind {item[1]} of {item[0]}; install what brings it")
    return resource
