"""Objects of an API server as plain data, for tests that set up, read and await them.

    client = Client(kubeconfig)
    client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}})
    client.get("ConfigMap", "a", "ml")["metadata"]["resourceVersion"]                                -> "212"
    client.list("Pod", "ml", labels="tfgen/role=worker")                                             -> [{...}, ...]

A kind has a version in front if several kinds have the same name: "scheduling.k8s.io/v1beta1/PodGroup".
A test of a command that users run runs kubectl (`ControlPlane.kubectl`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kubernetes import config
from kubernetes.dynamic import DynamicClient
from kubernetes.dynamic.exceptions import DynamicApiError, NotFoundError, ResourceNotFoundError, ResourceNotUniqueError

Object = dict[str, Any]
"""A Kubernetes object in the shape of its JSON."""

T = TypeVar("T")

PATIENCE = 300.0
"""The number of seconds that a test waits for an event: a busy machine with two cores may need minutes."""

MANAGER = "tfgen-e2e"
"""The field manager of the objects that a test applies."""


class ApiError(Exception):
    """An error response of the API server.

    Attributes:
        status: the HTTP status, such as 404.
        message: the message of the server.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Client:
    """Client of an API server with the permissions of one user. Every method may raise an ApiError."""

    def __init__(self, kubeconfig: Path) -> None:
        self._http = config.new_client_from_config(str(kubeconfig))
        # The client discovers the kinds of the server on the first use, and caches them beside the kubeconfig.
        self._api = DynamicClient(self._http, cache_file=str(kubeconfig.with_suffix(".discovery")))

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """Return an object."""
        return _call(self._resource(kind).get, name=name, namespace=namespace)

    def find(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        """Return an object, or None if the object does not exist."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind: str, namespace: str | None = None, *, labels: str = "", fields: str = "") -> list[Object]:
        """List the objects of a kind that the selectors match, in one namespace or in all."""
        selectors = {"label_selector": labels or None, "field_selector": fields or None}
        return [*_call(self._resource(kind).get, namespace=namespace, **selectors)["items"]]

    def create(self, obj: Mapping[str, Any], namespace: str | None = None, *, dry_run: bool = False) -> Object:
        """Create an object. With `dry_run`, only test whether the server would accept the object."""
        return _call(self._resource_of(obj).create, body=dict(obj), namespace=namespace, **_dry(dry_run))

    def apply(
        self,
        obj: Mapping[str, Any],
        namespace: str | None = None,
        *,
        manager: str = MANAGER,
        force: bool = False,
        dry_run: bool = False,
    ) -> Object:
        """Apply an object with server-side apply: https://kubernetes.io/docs/reference/using-api/server-side-apply/.

        Raises:
            ApiError: 422 or 403 if the server rejects the object, 409 if another manager owns a field.
        """
        return _call(
            self._resource_of(obj).server_side_apply,
            body=dict(obj),
            namespace=namespace,
            field_manager=manager,
            force_conflicts=force,
            field_validation="Strict",
            **_dry(dry_run),
        )

    def apply_all(self, objects: Iterable[Mapping[str, Any]], namespace: str | None = None) -> None:
        """Apply each object in turn."""
        for obj in objects:
            self.apply(obj, namespace)

    def patch(
        self, kind: str, name: str, namespace: str | None, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> Object:
        """Merge a patch (RFC 7386) into an object, or into a subresource of the object, such as its status."""
        return _call(
            self._resource(kind, subresource).patch,
            body=dict(patch),
            name=name,
            namespace=namespace,
            content_type="application/merge-patch+json",
        )

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        """Request the deletion of an object and of its dependents. The object may still exist for a while."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        _call(self._resource(kind).delete, name=name, namespace=namespace, body=body)

    def evict(self, pod: str, namespace: str) -> None:
        """Evict a pod, like `kubectl drain`.

        https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
        """
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        _call(self._resource("v1/Pod", "eviction").create, body=body, name=pod, namespace=namespace)

    def token(self, service_account: str, namespace: str) -> str:
        """Return a token of a service account, from the API that the kubelet uses."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        request = self._resource("v1/ServiceAccount", "token").create
        return str(_call(request, body=body, name=service_account, namespace=namespace)["status"]["token"])

    def serves(self, api_version: str, kind: str) -> bool:
        """Test whether the server serves a kind."""
        try:
            self._resource(f"{api_version}/{kind}")
        except ResourceNotFoundError:
            return False
        return True

    def lists(self, api_version: str, kind: str) -> bool:
        """Test whether the discovery document of a group, which clients read, lists a kind."""
        try:
            groups = self._api.request("GET", "/apis").groups
            listed = api_version in (version.groupVersion for group in groups for version in group.versions)
            return listed and kind in (each.kind for each in self._api.request("GET", f"/apis/{api_version}").resources)
        except NotFoundError:
            return False

    def forget_kinds(self) -> None:
        """Clear the list of known kinds, so that the next call reads the list from the server again."""
        self._api.resources.invalidate_cache()

    def watch(self, kind: str, namespace: str | None = None, *, seconds: int) -> Iterator[tuple[str, Object]]:
        """Watch the objects of a kind for some seconds: first each existing object as ADDED, then each change."""
        for event in self._resource(kind).watch(namespace=namespace, timeout=seconds):
            yield event["type"], event["raw_object"]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _resource_of(self, obj: Mapping[str, Any]) -> Any:
        return self._resource(f"{obj['apiVersion']}/{obj['kind']}")

    def _resource(self, name: str, subresource: str = "") -> Any:
        version, _, kind = name.rpartition("/")
        wanted = {"kind": kind, **({"api_version": version} if version else {})}
        try:
            found = self._api.resources.get(**wanted)
        except ResourceNotFoundError:  # the cached list of kinds is older than this kind
            self._api.resources.invalidate_cache()
            found = self._api.resources.get(**wanted)
        # Several groups have the kind, for example Job: use the group of Kubernetes itself.
        except ResourceNotUniqueError:
            found = next(each for each in self._api.resources.search(**wanted) if "." not in each.group)
        return found.subresources[subresource] if subresource else found


def eventually(look: Callable[[], T | None], what: str, patience: float = PATIENCE, pause: float = 0.1) -> T:
    """Call `look` repeatedly, and return its first true result.

    The pause between two calls grows with time. After ten seconds, the pause is half a second. Shorter pauses of many
    tests would overload a small machine.

    eventually(lambda: client.find("Pod", "mnist-worker-0", "ml"), "the pod")

    Raises:
        AssertionError: `look` returned nothing true within `patience` seconds. The message names `what` and the last
            result.
    """
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited = time.monotonic() - began
        assert waited < patience, f"{what}: not within {patience:.0f} s; the last look found {found!r}"
        time.sleep(max(pause, min(0.5, waited / 20)))


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dry_run": "All"} if dry_run else {}


def _call(request: Callable[..., Any], **arguments: Any) -> Object:
    """Return the object in the response to a request."""
    try:
        answer: Object = json.loads(request(serialize=False, **arguments).data)
    except DynamicApiError as error:
        raise ApiError(error.status, json.loads(error.body)["message"]) from None
    return answer
