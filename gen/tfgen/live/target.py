"""Read, apply, patch and delete single objects in the target namespace of a job.

Every write of a command to a cluster goes through this module, and each write checks the ownership of the object. An
object of somebody else may have a name that tfgen would choose, so the name alone shows nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from tfgen import data_path
from tfgen.change.field_diff import FieldChange
from tfgen.errors import TfgenError
from tfgen.job.facts import environments_of
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, identity
from tfgen.live.api import NOT_FOUND, Api, ApiError, Resource, find
from tfgen.live.run import Identity, declared_runs
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document
from tfgen.words import listed

MANAGER: Final = "tfgen"
CLAIM: Final = ("v1", "PersistentVolumeClaim")
_CHART: Final = re.compile(r".+-1\.\d+\.\d{4,}(_.*)?")
"""The label `helm.sh/chart` of a chart of tfgen: the third number of the version is a digest of 48 bits. Another chart
may have the name of a job, because the labels of the usual charts are those of `helm create`."""

ChangeOutcome: TypeAlias = Literal["created", "changed", "unchanged", "deleted", "kept", "left"]
"""The name of the outcome of `tfgen apply` or `tfgen delete` for an object.

The outcome `kept` is for a claim, or for an object of another environment. The outcome `left` is for an object that
tfgen did not create.
"""


_MANAGERS: Final = (
    # https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD"),
    ("labels", "argocd.argoproj.io/instance", "Argo CD"),
    # https://fluxcd.io/flux/components/kustomize/kustomizations/ and .../helm/helmreleases/
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux"),
    # An object that Helm installed: https://helm.sh/docs/topics/advanced/#storage-backends
    ("annotations", "meta.helm.sh/release-name", "Helm"),
)
"""The part, the key and the tool of each mark that a tool writes into its objects."""


class ObjectChange(Record):
    """An object, and the outcome of `tfgen apply` or `tfgen delete` for the object.

    Attributes:
        identity: the API version, kind and name of the object.
        outcome: the outcome.
        fields: the fields that change.
        reason: the reason for the outcome, or a note about the object; may be empty.
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


class Ownership(Record):
    """The answer to the question whether a job owns an object in a cluster.

    Attributes:
        is_own: whether the job owns the object.
        reason: the reason why the job does not own the object, or a note about an object that the job owns; may be
            empty.
    """

    is_own: bool
    reason: str = ""


class Target(Record):
    """The cluster and namespace for the objects of a job in an environment.

    Attributes:
        api: the client of the API server.
        namespace: the namespace.
        job: the name of the job.
        full_name: the prefix of the names of the objects: the name of the job, or of a Helm release of the job.
        rerun: the command for a new run, such as "tfgen rerun jobs/mnist", for messages.
        environment: the environment; None for the job without an environment.
        neighbors: the other environments of the job.
        is_forced: whether tfgen takes over fields and objects that another tool manages (--force).
        run: the name of the run whose objects the command changes; None for the objects of all runs of the job.
        inventory: the UID of each object that the last apply of the environment lists. The UID is empty in the
            inventory of an older tfgen, and for an object that an interrupted apply may not have created.
    """

    api: Api
    namespace: str
    job: str
    full_name: str
    rerun: str
    environment: str | None = None
    neighbors: tuple[Neighbor, ...] = ()
    is_forced: bool = False
    run: str | None = None
    inventory: Mapping[Identity, str] = EMPTY


class ObjectRefusedError(TfgenError):
    """Error for an object that tfgen changes only with --force, or not at all.

    Attributes:
        item: the object.
        reason: the reason, and the fix.
    """

    def __init__(self, item: Identity, reason: str) -> None:
        super().__init__(f"{name_of(item)}: {reason}")
        self.item, self.reason = item, reason


def find_object(target: Target, item: Identity) -> Object | None:
    """Return the cluster's version of an object; None if the object or its kind does not exist.

    Raises:
        ApiError: the user may not read the object.
        TfgenError: the server does not answer in time.
    """
    return _find(target.api, target.namespace, item)


def _find(api: Api, namespace: str, item: Identity) -> Object | None:
    resource = api.resource(*item[:2])
    return find(api, resource.at(namespace, item[2])) if resource else None


def apply_object(target: Target, item: Object, live: Object | None, *, is_dry_run: bool) -> Object:
    """Send an object to the server with server-side apply, and return the server's new version of the object.

    A dry run changes nothing. With --force, the function also changes an object that the job does not own, but does not
    set the labels of the job: so the object never counts as an object of the job, and no command deletes the object.

    Args:
        target: the cluster and namespace.
        item: the object to apply.
        live: the version in the cluster; None if the object does not exist.
        is_dry_run: whether the server only checks the object.

    Raises:
        ObjectRefusedError: the job does not own the object in the cluster.
        ApiError: the server refuses the object.
        TfgenError: the server does not answer in time.
    """
    if live is not None and not (owner := ownership(target, live)).is_own:
        has_pods = any(True for _ in _labels_of_pods(item))
        if has_pods or not target.is_forced:
            force = "" if has_pods else ", or add --force to change the object, which no command then deletes"
            fix = f"rename the job, or delete the object with kubectl{force}"
            raise ObjectRefusedError(identity(live), f"{owner.reason}; {fix}")
        labels_of_job = (keys.NAME, keys.INSTANCE, keys.MANAGED_BY)
        labels = {key: value for key, value in item["metadata"]["labels"].items() if key not in labels_of_job}
        item = {**item, "metadata": {**item["metadata"], "labels": labels}}
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
    query |= {"force": "true"} if target.is_forced else {}
    query |= {"dryRun": "All"} if is_dry_run else {}
    path = resource_of(target.api, identity(item)).at(target.namespace, item["metadata"]["name"])
    applied: Object = target.api.data("PATCH", path, query, item, "application/apply-patch+yaml")
    return applied


def patch_object(
    target: Target,
    live: Object,
    path: str,
    patch: Mapping[str, Any],
    content_type: str = "application/merge-patch+json",
) -> None:
    """Patch an object of the job, a subresource of the object, or an object that belongs to the object.

    Args:
        target: the cluster and namespace.
        live: the object in the cluster. The job must own this object.
        path: the URL path to patch.
        patch: the patch.
        content_type: the type of the patch.

    Raises:
        ObjectRefusedError: the job does not own the object.
        ApiError: the server refuses the request.
        TfgenError: the server does not answer in time.
    """
    check_own(target, live)
    target.api.data("PATCH", path, {"fieldManager": MANAGER}, patch, content_type)


def delete_object(target: Target, live: Object, options: Mapping[str, Any] = EMPTY) -> None:
    """Delete an object of the job from the cluster. A missing object is no error.

    Without `options`, the server deletes the objects that belong to the object in the background. The UID is a
    precondition, so the server never deletes a new object with the same name.

    Raises:
        ObjectRefusedError: the job does not own the object.
        ApiError: the server refuses the request.
        TfgenError: the server does not answer in time.
    """
    check_own(target, live)
    options = options or {"propagationPolicy": "Background"}
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": live["metadata"]["uid"]}, **options}
    try:
        path = resource_of(target.api, identity(live)).at(target.namespace, live["metadata"]["name"])
        target.api.data("DELETE", path, {}, body, "application/json")
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise


def in_apply_order(objects: Iterable[Object]) -> list[Object]:
    """Sort objects for an apply. Objects that a pod needs to start come first, as in the sync waves of Argo CD."""
    return sorted(
        objects, key=lambda item: not keys.BEFORE_PODS.items() <= item["metadata"].get("annotations", {}).items()
    )


def check_owner(target: Target, live: Object) -> None:
    """Raise ObjectRefusedError if Argo CD, Flux or Helm manages an object, unless the user passed --force."""
    owner = _manager_of(live)
    if owner and not target.is_forced:
        raise ObjectRefusedError(
            identity(live),
            f"{owner} manages the object; commit the change to git, or add --force to let tfgen manage the object",
        )


def is_kept(live: Object) -> bool:
    """Return whether `tfgen delete` keeps an object in the cluster.

    tfgen keeps each claim, and each object with all annotations of `keys.KEEP`, such as `helm.sh/resource-policy:
    keep`.
    """
    annotations = live["metadata"].get("annotations") or {}
    return identity(live)[:2] == CLAIM or keys.KEEP.items() <= annotations.items()


def ownership(target: Target, live: Object) -> Ownership:
    """Return whether the job owns an object in the cluster.

    The job owns an object with the labels of the job and, where the object has pod templates, of the run. kubectl,
    Helm, Argo CD and Flux apply these labels as well. The job also owns an object whose UID the inventory lists.
    """
    uid, listed = live["metadata"].get("uid", ""), target.inventory.get(identity(live))
    if listed and listed == uid:
        return Ownership(is_own=True)
    if _has_labels_of_job(target, live):
        return Ownership(is_own=True, reason="recreated since the last apply" if listed else "")
    # If tfgen applied the object, tfgen is one of its field managers:
    # https://kubernetes.io/docs/reference/using-api/server-side-apply/
    entries = live["metadata"].get("managedFields") or ()
    if listed == "" and (MANAGER, "Apply") in [(entry.get("manager"), entry.get("operation")) for entry in entries]:
        return Ownership(is_own=True)
    owner = _manager_of(live)
    manager = f", and {owner} manages it" if owner else ""
    return Ownership(is_own=False, reason=f"the job {target.job} did not create the object{manager}")


def check_own(target: Target, live: Object) -> None:
    """Raise ObjectRefusedError if the job does not own an object in the cluster."""
    owner = ownership(target, live)
    if not owner.is_own:
        raise ObjectRefusedError(identity(live), owner.reason)


def _has_labels_of_job(target: Target, live: Object) -> bool:
    """Return whether an object has the labels of the job.

    The labels `tfgen/job` and `tfgen/run` of the pods decide. Only objects without pods, and objects under `objects` in
    job.yaml, lack these labels. Such an object must have the labels that tfgen sets on every object.
    """
    pods = [*_labels_of_pods(live)]
    marked = [labels for labels in pods if keys.JOB in labels]
    if marked:
        return all(
            labels[keys.JOB] == target.full_name and target.run in (None, labels.get(keys.RUN)) for labels in marked
        )
    labels = live["metadata"].get("labels") or {}
    if labels.get(keys.NAME) != target.job or (pods and keys.OBJECT not in labels):
        return False
    manager, chart = labels.get(keys.MANAGED_BY), labels.get(keys.CHART, "")
    return manager == MANAGER or (manager == "Helm" and bool(_CHART.fullmatch(chart)))


def _labels_of_pods(item: Object) -> Iterator[Mapping[str, Any]]:
    """Yield the labels of a pod, or of each template of pods in an object."""
    if item["kind"] == "Pod":
        yield item["metadata"].get("labels") or {}
    parts: list[Any] = [item]
    while parts:
        part = parts.pop()
        template = part.get("template") if isinstance(part, Mapping) else None
        if data_path.at(template, ("spec", "containers")) is not None:
            yield data_path.at(template, ("metadata", "labels")) or {}
        parts += part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()


def refusal_lines(refusals: Iterable[ObjectRefusedError]) -> str:
    """Return a line for each reason, with the objects that have the reason: "Service mnist and Job mnist: REASON"."""
    items: dict[str, list[str]] = {}
    for refusal in refusals:
        items.setdefault(refusal.reason, []).append(name_of(refusal.item))
    return "\n".join(f"{listed(names, most=6)}: {reason}" for reason, names in items.items())


def name_of(item: Identity) -> str:
    """Return the kind and the name of an object as text, such as "ConfigMap mnist"."""
    return f"{item[1]} {item[2]}"


def resource_of(api: Api, item: Identity) -> Resource:
    """Return the resource of an object's kind.

    Raises:
        ApiError: the cluster does not have the kind.
        TfgenError: the server does not answer in time.
    """
    resource = api.resource(*item[:2])
    if resource is None:
        raise ApiError(
            NOT_FOUND, f"the cluster has no kind {item[1]} of {item[0]}; install its custom resource definition"
        )
    return resource


def _manager_of(item: Object) -> str:
    """Return the name of the tool that manages an object: Argo CD, Flux or Helm; empty for an unmanaged object.

    The tool would revert a change of the object.
    """
    metadata = item["metadata"]
    return next((tool for part, key, tool in _MANAGERS if key in (metadata.get(part) or {})), "")


_KEY: Final = "objects"


def read_inventory(api: Api, namespace: str, job: str, environment: str | None) -> Mapping[Identity, str]:
    """Return the objects of the last `tfgen apply` for an environment with their UIDs; empty without an inventory.

    Raises:
        ApiError: the user may not read the ConfigMap.
        TfgenError: the server does not answer in time, or the ConfigMap is not an inventory.
    """
    live = _find(api, namespace, _inventory_of(job, environment))
    if live is None:
        return EMPTY
    try:
        # An older tfgen listed the API version, the kind and the name, without the UID.
        rows = [[*map(str, row), ""] for row in json.loads(live["data"][_KEY])]
        return {(version, kind, name): uid for version, kind, name, uid, *_ in rows}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise TfgenError(
            f"{name_of(_inventory_of(job, environment))} in {namespace} is not an inventory of tfgen; restore its key "
            f"{_KEY}, or delete the ConfigMap"
        ) from error


def write_inventory(target: Target, uids: Mapping[Identity, str]) -> None:
    """Write the objects of the job with their UIDs to the inventory.

    Raises:
        ObjectRefusedError: the job did not create the ConfigMap.
        ApiError: the user may not write the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    inventory = version, kind, name = _inventory_of(target.job, target.environment)
    item = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "labels": {keys.NAME: target.job, keys.MANAGED_BY: MANAGER}},
        "data": {_KEY: json.dumps([[*item, uid] for item, uid in uids.items()])},
    }
    apply_object(target, item, find_object(target, inventory), is_dry_run=False)


def delete_inventory(target: Target) -> None:
    """Delete the inventory.

    Raises:
        ApiError: the user may not delete the ConfigMap.
        TfgenError: the server does not answer in time.
    """
    live = find_object(target, _inventory_of(target.job, target.environment))
    if live is not None:
        delete_object(target, live)


def neighbors_of(document: Document, environment: str | None) -> tuple[Neighbor, ...]:
    """Return all environments of a job except for `environment`.

    If `environment` is None, the job without an environment is left out.
    """
    names = [None, *environments_of(document)]
    return tuple(
        Neighbor(name, item.run.deciding_object, tuple(map(identity, item.objects)))
        for name in names
        if name != environment
        for item in declared_runs([document], name)
    )


def objects_of_neighbors(target: Target, candidates: Collection[Identity]) -> dict[Identity, str]:
    """Return the objects that another environment of the job applied to the namespace.

    The result has the title of the environment for each object. tfgen recognizes the objects of an environment by the
    inventory of the environment. `kubectl apply` writes no inventory, so tfgen also recognizes an environment by the
    object that ends the run, such as the finisher.

    Args:
        target: the cluster and namespace.
        candidates: the objects that the command may delete. Two environments may have a finisher of the same name. So a
            finisher among the candidates does not count as the finisher of another environment.

    Raises:
        ApiError: the user may not read the objects.
        TfgenError: the server does not answer in time.
    """
    titles: dict[Identity, str] = {}
    for neighbor in target.neighbors:
        applied: Iterable[Identity] = read_inventory(target.api, target.namespace, target.job, neighbor.environment)
        if (
            neighbor.deciding_object
            and neighbor.deciding_object not in candidates
            and find_object(target, neighbor.deciding_object)
        ):
            applied = (*applied, *neighbor.objects)
        for item in applied:
            titles.setdefault(item, neighbor.title)
    return titles


def _inventory_of(job: str, environment: str | None) -> Identity:
    # The names of jobs and environments have no dot, so two environments never share a ConfigMap.
    return "v1", "ConfigMap", ".".join(filter(None, (job, environment, "tfgen")))
