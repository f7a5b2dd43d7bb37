"""A namespace of a cluster in memory, for commands that read, apply, patch and delete objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tfgen.live.api import NOT_FOUND, ApiError, Resource
from tfgen.live.target import Neighbor, Target, read_inventory

LABELS = {"app.kubernetes.io/name": "web", "app.kubernetes.io/managed-by": "tfgen"}
APPLIED = [{"manager": "tfgen", "operation": "Apply"}]
BY_HAND = [{"manager": "kubectl-create", "operation": "Update"}]
PLURALS = {
    "ConfigMap": "configmaps",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StatefulSet": "statefulsets",
    "Job": "jobs",
}


class Namespace:
    """The namespace `ml` with objects, for the job `web`.

    Attributes:
        objects: The objects by URL path.
        deleted: The names of the objects that were deleted.
        patched: The paths of the merge patches.
    """

    def __init__(self, *objects: Mapping[str, Any]) -> None:
        self.objects = {self.path(item["apiVersion"], item["kind"], item["metadata"]["name"]): item for item in objects}
        self.deleted: list[str] = []
        self.patched: list[str] = []

    def path(self, api_version: str, kind: str, name: str) -> str:
        resource = self.resource(api_version, kind)
        assert resource
        return resource.at("ml", name)

    def resource(self, api_version: str, kind: str) -> Resource | None:
        prefix = "/apis" if "/" in api_version else "/api"
        return Resource(f"{prefix}/{api_version}", PLURALS[kind], True) if kind in PLURALS else None

    def data(self, method: str, path: str, query: Any = None, body: Any = None, content_type: str = "") -> Any:
        if path.endswith("/"):  # a server returns a list for this path
            return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []}
        if "apply" in content_type:
            return self._apply(path, body, is_dry_run="dryRun" in query)
        if path.removesuffix("/scale") not in self.objects:
            raise ApiError(NOT_FOUND, "404")
        live = self.objects[path.removesuffix("/scale")]
        if method == "PATCH":
            self.patched.append(path.removeprefix("/apis/"))
        if method == "DELETE":
            assert body["preconditions"] == {"uid": live["metadata"]["uid"]}
            self.deleted.append(path.rpartition("/")[2])
        return live

    def target(self, environment: str | None = None, *neighbors: Neighbor, **more: Any) -> Target:
        api = cast("Any", self)
        listed = read_inventory(api, "ml", "web", environment)
        return Target(api, "ml", "web", "web", "tfgen rerun job.yaml", environment, neighbors, inventory=listed, **more)

    def _apply(self, path: str, item: Mapping[str, Any], *, is_dry_run: bool) -> Mapping[str, Any]:
        live = self.objects.get(path, {"metadata": {"uid": f"uid of {item['metadata']['name']}"}})
        labels = {**(live["metadata"].get("labels") or {}), **item["metadata"].get("labels", {})}
        applied = {**live, **item, "metadata": {**live["metadata"], **item["metadata"], "labels": labels}}
        if not is_dry_run:
            self.objects[path] = applied
        return applied


def live_object(version: str, kind: str, name: str, fields: object, labels: Mapping[str, str] | None = None) -> Any:
    metadata = {"name": name, "uid": f"uid of {name}", "labels": labels, "managedFields": fields}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def inventory(*rows: tuple[str, ...], name: str = "web.tfgen") -> Any:
    """Return the inventory with a row for each object: API version, kind, name and, in a new inventory, the UID."""
    return {**live_object("v1", "ConfigMap", name, APPLIED, LABELS), "data": {"objects": json.dumps(rows)}}
