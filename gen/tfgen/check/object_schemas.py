"""Kubernetes' own schemas, of a chosen version, and the small ones of the custom kinds that tfgen writes.

    schemas = ObjectSchemas("1.33")
    schemas.faults(stateful_set)   ->  [Fault(..., ("spec", "replicas"), '"four" is not of type "integer"')]

The schemas of Kubernetes come from the package kubernetes-validate. It is not a dependency, because it has 100 MB that
most users do not need. tfgen reads only its data: to import the package takes longer than the whole check.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tfgen.check.object_checks.fault import Fault
from tfgen.errors import MissingPackageError, UsageError
from tfgen.kubernetes.object import Object, literal_name
from tfgen.schema import file as schema_file

if TYPE_CHECKING:
    from jsonschema_rs import Draft7Validator, Draft202012Validator

_FOLDER: Final = re.compile(r"v(?P<minor>[0-9]+\.[0-9]+)\.(?P<patch>[0-9]+)-local-strict")
_VERSION: Final = re.compile(r"v?(?P<minor>[0-9]+\.[0-9]+)(\.[0-9]+)?")

# How the files refer to the one that all of them share.
_SHARED: Final = '"/api/_definitions.json#/'

_LONGEST: Final = 300
"""Characters of a message: the validator puts whole objects into some."""


class ObjectSchemas:
    """Schemas by kind. Without a version, those of custom kinds alone.

    Raises:
        MissingPackageError: the schemas are not installed.
        UsageError: there are no schemas of that version.
    """

    def __init__(self, version: str | None = None) -> None:
        self._folder = _folder(version) if version else None
        wanted = _VERSION.fullmatch(version or "")
        self.version = tuple(map(int, wanted["minor"].split("."))) if wanted else None
        """The major and the minor version."""

    def faults(self, item: Object) -> Iterator[Fault]:
        """What an object has that its schema refuses: nothing of a kind without one."""
        if validator := self._validator(item):
            for error in validator.iter_errors(item):
                text = error.message
                yield Fault(item, tuple(error.instance_path), text if len(text) < _LONGEST else text[:_LONGEST] + "...")

    def unknown(self, items: Iterable[Object]) -> frozenset[str]:
        """The kinds of some objects that have no schema, as "KIND of GROUP/VERSION"; none without a version."""
        without = (item for item in items if self._folder and not self._validator(item))
        return frozenset(f"{item['kind']} of {item['apiVersion']}" for item in without)

    def _validator(self, item: Object) -> Draft7Validator | Draft202012Validator | None:
        api_version, kind = item["apiVersion"], item["kind"]
        # A schema of a custom kind has the fields that tfgen writes. An entry of `objects` may have further fields.
        custom = _custom(kind, api_version) if literal_name(item) is None else None
        return custom or (_kubernetes(self._folder, kind, api_version) if self._folder else None)


@functools.cache
def _custom(kind: str, api_version: str) -> Draft7Validator | None:
    group, _, version = api_version.rpartition("/")
    path = schema_file.path().with_name(f"{kind.lower()}.{group}.{version}.json")
    if not path.exists():
        return None
    import jsonschema_rs

    return jsonschema_rs.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


@functools.cache
def _kubernetes(folder: Path, kind: str, api_version: str) -> Draft202012Validator | None:
    """The schema of a kind: in the file `statefulset-apps-v1.json`, by the first part of its group."""
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
    wanted = _VERSION.fullmatch(version)
    if wanted is None or wanted["minor"] not in folders:
        known = ", ".join(sorted(folders, key=lambda minor: tuple(map(int, minor.split(".")))))
        raise UsageError(f"no schemas of Kubernetes {version!r}: there are those of {known}")
    return folders[wanted["minor"]]
