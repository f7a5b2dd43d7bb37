"""Read the objects of a cluster from a file: the output of `kubectl get nodes,pods --all-namespaces -o yaml`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

from tfgen.errors import UsageError
from tfgen.kubernetes.object import Object

_COMMAND: Final = "kubectl get nodes,pods --all-namespaces -o yaml"
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.CSafeLoader):
    """YAML loader that reads a timestamp as text, because the JSON output of kubectl has timestamps as text."""

    yaml_constructors: ClassVar[dict[Any, Any]] = {
        **yaml.CSafeLoader.yaml_constructors,
        _TIMESTAMP: yaml.CSafeLoader.construct_yaml_str,
    }


def read_cluster_file(file: Path) -> list[Object]:
    """Return the objects in a YAML file, or in a JSON file with the suffix .json. A List is replaced by its items.

    The function accepts files of any size, because the objects of a thousand nodes need several megabytes.

    Raises:
        UsageError: the file cannot be read, is not YAML, or contains no node or something else than objects.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file}: {error.strerror if isinstance(error, OSError) else 'the file is not UTF-8'}"
        ) from error
    try:
        documents = [json.loads(text)] if file.suffix == ".json" else [*yaml.load_all(text, Loader=_Loader)]
    except json.JSONDecodeError as error:
        raise UsageError(f"{file}:{error.lineno}:{error.colno}: the text is not JSON: {error.msg}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else str(file)
        raise UsageError(f"{place}: the text is not YAML: {getattr(error, 'problem', None) or error}") from error
    objects = [item for document in documents if document is not None for item in _items(document)]
    for number, item in enumerate(objects, start=1):
        if not _is_object(item):
            raise UsageError(f"{file}: item {number} is not a Kubernetes object with a kind and a name")
    if not any(item["kind"] == "Node" for item in objects):
        raise UsageError(f"{file}: the file contains no node; create the file with {_COMMAND}")
    return objects


def _items(document: Any) -> Sequence[Any]:
    is_list = isinstance(document, dict) and str(document.get("kind")).endswith("List")
    return document.get("items") or () if is_list else (document,)


def _is_object(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return False
    return isinstance(item.get("kind"), str) and (item["kind"] != "Pod" or isinstance(item.get("spec"), dict))
