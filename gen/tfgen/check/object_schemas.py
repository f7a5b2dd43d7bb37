"""Schemas of Kubernetes in a chosen version, and small schemas of the custom kinds that tfgen writes.

The schemas of Kubernetes are in the package kubernetes-validate. The package is not a dependency, because it has 100 MB
that most users do not need. tfgen reads only the data of the package, because importing its code takes longer than
the check.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tfgen.check.object_links import ObjectFault
from tfgen.errors import MissingPackageError, UsageError
from tfgen.kubernetes.object import Object, literal_name
from tfgen.schema import file as schema_file

if TYPE_CHECKING:
    from jsonschema_rs import Draft7Validator, Draft202012Validator

OBJECT_SCHEMA: Final = "object-schema"

_FOLDER: Final = re.compile(r"v(?P<minor>[0-9]+\.[0-9]+)\.(?P<patch>[0-9]+)-local-strict")
_VERSION: Final = re.compile(r"v?(?P<minor>[0-9]+\.[0-9]+)(\.[0-9]+)?")

# The schema files refer to their shared definitions with this prefix.
_SHARED: Final = '"/api/_definitions.json#/'

_MAX_LENGTH: Final = 300
"""Maximum length of a message. The validator writes whole objects into some messages."""


class ObjectSchemas:
    """JSON schemas of Kubernetes kinds. Without a Kubernetes version, tfgen uses only the schemas of custom kinds.

    Raises:
        MissingPackageError: the schemas are not installed.
        UsageError: the package has no schemas of the version.
    """

    def __init__(self, version: str | None = None) -> None:
        self._folder = _folder(version) if version else None
        match = _VERSION.fullmatch(version or "")
        self.version = tuple(map(int, match["minor"].split("."))) if match else None
        """The major and the minor version."""

    def faults(self, item: Object) -> Iterator[ObjectFault]:
        """Yield each fault that the schema of an object finds. For a kind without a schema, yield nothing."""
        if validator := self._validator(item):
            for error in validator.iter_errors(item):
                text = error.message
                message = text if len(text) < _MAX_LENGTH else f"{text[:_MAX_LENGTH]}..."
                yield ObjectFault(item, tuple(error.instance_path), message, OBJECT_SCHEMA)

    def kinds_without_schema(self, items: Iterable[Object]) -> tuple[str, ...]:
        """Return the kinds without a schema, such as `Workflow of argoproj.io/v1alpha1`.

        Without a Kubernetes version, return an empty tuple.
        """
        without = (item for item in items if self._folder and not self._validator(item))
        return tuple(sorted({f"{item['kind']} of {item['apiVersion']}" for item in without}))

    def _validator(self, item: Object) -> Draft7Validator | Draft202012Validator | None:
        api_version, kind = item["apiVersion"], item["kind"]
        # A schema of a custom kind has the fields that tfgen writes. An entry of `objects` may have additional fields.
        custom = _custom(kind, api_version) if literal_name(item) is None else None
        return custom or (_kubernetes(self._folder, kind, api_version) if self._folder else None)


@functools.lru_cache(256)
def _custom(kind: str, api_version: str) -> Draft7Validator | None:
    group, _, version = api_version.rpartition("/")
    path = schema_file.path().with_name(f"{kind.lower()}.{group}.{version}.json")
    if not path.exists():
        return None
    import jsonschema_rs

    return jsonschema_rs.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


@functools.lru_cache(256)
def _kubernetes(folder: Path, kind: str, api_version: str) -> Draft202012Validator | None:
    """Return the schema of a kind from a file such as `statefulset-apps-v1.json`, or None without such a file."""
    group, _, version = api_version.rpartition("/")
    stem = "-".join(part for part in (kind.lower(), group.partition(".")[0], version) if part)
    path = folder / f"{stem}.json"
    if not path.exists():
        return None
    import jsonschema_rs

    schema = json.loads(path.read_text(encoding="utf-8").replace(_SHARED, '"#/'))
    schema.pop("$id", None)
    return jsonschema_rs.Draft202012Validator({**schema, "$defs": _definitions(folder)})


@functools.cache
def _definitions(folder: Path) -> Mapping[str, Any]:
    shared: Mapping[str, Any] = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    return shared


def _folder(version: str) -> Path:
    spec = importlib.util.find_spec("kubernetes_validate")
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            "the schemas of Kubernetes are in the package kubernetes-validate, which is not installed",
            "kubernetes-validate",
        )
    folders = {
        match["minor"]: path
        for path in sorted((Path(spec.origin).parent / "kubernetes-json-schema").iterdir())
        if (match := _FOLDER.fullmatch(path.name))
    }
    requested = _VERSION.fullmatch(version)
    if requested is None or requested["minor"] not in folders:
        versions = ", ".join(sorted(folders, key=lambda minor: tuple(map(int, minor.split(".")))))
        raise UsageError(f"found no schemas of Kubernetes {version!r}; choose one of the versions {versions}")
    return folders[requested["minor"]]
