"""Builds the objects of a rendered overlay as `kustomize build` does, with the features that tfgen uses.

    build_objects({"base/kustomization.yaml": ..., "dev/kustomization.yaml": ...}, "dev")
        ->  ({"kind": "Service", ...}, ...)

So tfgen can compare committed overlays of any version of tfgen on a machine without kustomize.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tfgen.errors import TfgenError
from tfgen.kubernetes.merge import JSON_MERGE, kustomize, merge, patched
from tfgen.kubernetes.object import Object, group, identity
from tfgen.targets.kustomize.patch import merges_by_key, new_names, with_images, with_new_names
from tfgen.text.parse import parse

BASE: Final = "base"
_KUSTOMIZATION: Final = "kustomization.yaml"


def build_objects(files: Mapping[str, str], environment: str | None = None) -> Sequence[Object]:
    """Return the objects of a job's base, or of the overlay of an environment.

    Args:
        files: text of each file in the job's folder below `overlays/`, by path. Example of a path:
            prod/kustomization.yaml.
        environment: the name of the environment; None for the base.

    Raises:
        TfgenError: the files are not an overlay of tfgen.
    """
    folder = environment or BASE
    try:
        return tuple(_objects(files, folder))
    # Committed files may have any content.
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise TfgenError(f"{folder}/{_KUSTOMIZATION}: not an overlay that tfgen wrote ({reason})") from error


def has_overlay(files: Mapping[str, str], environment: str | None) -> bool:
    """Test whether the files contain the overlay of an environment, or the base if the environment is None."""
    return f"{environment or BASE}/{_KUSTOMIZATION}" in files


def _objects(files: Mapping[str, str], folder: str) -> Iterator[Object]:
    kustomization = _read(files, f"{folder}/{_KUSTOMIZATION}")
    objects: dict[tuple[str, str, str], Object] = {}
    for resource in kustomization["resources"]:
        items = _objects(files, BASE) if resource == f"../{BASE}" else (_read(files, f"{folder}/{resource}"),)
        objects |= {identity(item): item for item in items}
    for entry in kustomization.get("configMapGenerator", ()):
        item = _generated(files, folder, entry)
        objects[identity(item)] = item
    names: dict[tuple[str, str], str] = {}
    for entry in kustomization.get("patches", ()):
        patch = _parsed(entry["patch"], folder) if "patch" in entry else _read(files, f"{folder}/{entry['path']}")
        key = _selected_identity(objects.values(), entry["target"]) if "target" in entry else identity(patch)
        if key not in objects:
            raise ValueError(f"a patch changes the {key[1]} {key[2]}, which the overlay does not have")
        item = objects.pop(key)
        if isinstance(patch, list):
            changed = patched(item, patch)
        elif patch.get("$patch") == "delete":
            continue
        else:
            changed = merge(item, patch, kustomize(item["kind"]) if merges_by_key(item) else JSON_MERGE)
        objects[identity(changed)] = changed
        names |= new_names([(item, changed)])
    counts = {entry["name"]: entry["count"] for entry in kustomization.get("replicas", ())}
    images = {entry["name"]: entry for entry in kustomization.get("images", ())}
    for item in (with_new_names(item, names) for item in objects.values()):
        count = counts.get(item["metadata"]["name"]) if item["kind"] == "StatefulSet" else None
        sized = item if count is None else {**item, "spec": {**item["spec"], "replicas": count}}
        yield with_images(sized, images)


def _selected_identity(items: Iterable[Object], target: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the API version, kind and name of the object that the target of a patch selects.

    A target without an API group matches objects of every group, because old versions of tfgen omitted the group.

    Raises:
        ValueError: the target does not match exactly one object.
    """
    kind, name = target["kind"], target["name"]
    candidates = [item for item in items if item["kind"] == kind and target.get("group", group(item)) == group(item)]
    (item,) = (item for item in candidates if re.fullmatch(name, item["metadata"]["name"]))
    return identity(item)


def _generated(files: Mapping[str, str], folder: str, entry: Mapping[str, Any]) -> Object:
    """Return the ConfigMap that kustomize generates from an entry of ``configMapGenerator``."""
    options = entry["options"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": entry["name"], "labels": options["labels"], "annotations": options["annotations"]},
        "immutable": options["immutable"],
        "data": {path.rpartition("/")[2]: files[f"{folder}/{path}"] for path in entry["files"]},
    }


def _read(files: Mapping[str, str], path: str) -> Any:
    return _parsed(files[path], path)


# cached, because environments share the base, and two versions of an overlay have most files in common
@lru_cache(maxsize=64)
def _parsed(text: str, path: str) -> Any:
    parsed = parse(text, path)
    if parsed.problems:
        raise ValueError(str(parsed.problems[0]))
    (document,) = parsed.documents
    return document.data
