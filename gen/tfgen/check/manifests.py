"""Manifests of the repository that restrict the pods of a namespace: LimitRange, NetworkPolicy and ResourceQuota.

tfgen skips the manifests that the ledgers list, because tfgen rendered these manifests. tfgen also skips a file that is
not plain YAML, such as a template of a chart, because its rendered text is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.errors import TfgenError
from tfgen.git.tree import DISK, Kind, Tree
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.tree.ledger import Ledgers

KINDS: Final = ("LimitRange", "NetworkPolicy", "ResourceQuota")

_SUFFIXES: Final = (".yaml", ".yml")
_KUSTOMIZATION: Final = "kustomization.yaml"
_KIND_LINE: Final = re.compile(rf"^\s*(- )?[\"']?kind[\"']?:\s*[\"']?({'|'.join(KINDS)})\b".encode(), re.MULTILINE)


class Manifest(Record):
    """A Kubernetes object in a file of the repository.

    Attributes:
        file: the path of the file from the root of the repository.
        item: the object.
        namespace: the namespace of the object, or of the kustomization in the same folder; None without a namespace.
    """

    file: str
    item: Object
    namespace: str | None

    def __str__(self) -> str:
        return f"{self.item['kind']} {self.item['metadata'].get('name', '')} of {self.file}"


def read_foreign_manifests(out: Path, ledgers: Ledgers, tree: Tree = DISK) -> tuple[Manifest, ...]:
    """Return the LimitRanges, NetworkPolicies and ResourceQuotas in a folder, except the objects that tfgen wrote.

    The manifests are sorted by file. The function skips files that it cannot read.

    Args:
        out: the output folder.
        ledgers: the ledgers of all jobs in the output folder.
        tree: the version of the files.

    Raises:
        TfgenError: a ledger was changed during the call.
    """
    paths = [
        out / name
        for name, kind in tree.files_below(out, hidden=False).items()
        if kind is Kind.FILE and name.endswith(_SUFFIXES) and not ledgers.lists(name)
    ]
    manifests: list[Manifest] = []
    for path in sorted(paths):
        content = _read(path, tree)
        if _KIND_LINE.search(content):
            file = path.relative_to(out).as_posix()
            for item in _objects(_documents(content, file)):
                namespace = item["metadata"].get("namespace") or _namespace_of(path.parent, tree)
                manifests.append(Manifest(file, item, namespace))
    return tuple(manifests)


def literal_manifests(file: str, items: Iterable[Object], namespace: str | None) -> Iterator[Manifest]:
    """Yield each LimitRange, NetworkPolicy and ResourceQuota among the `objects` of a job."""
    return (Manifest(file, item, namespace) for item in items if _restricts_namespace(item))


def _read(path: Path, tree: Tree) -> bytes:
    try:
        content = tree.read(path, MAX_BYTES + 1) or b""
    except TfgenError:
        return b""
    return content if len(content) <= MAX_BYTES else b""


def _documents(content: bytes, file: str) -> Sequence[Document]:
    text = decode(content, file)
    if not isinstance(text, str):
        return ()
    parsed = parse(text, file)
    return () if parsed.problems else parsed.documents


def _objects(documents: Sequence[Document]) -> Iterator[Object]:
    """Yield each LimitRange, NetworkPolicy and ResourceQuota that has a spec, including the items of a List."""
    for document in documents:
        data = document.data
        items = data.get("items") if isinstance(data, dict) and data.get("kind") == "List" else [data]
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and _restricts_namespace(item):
                yield item


def _restricts_namespace(item: Object) -> bool:
    """Return True for an object that restricts a namespace.

    Such an object is a LimitRange, a NetworkPolicy or a ResourceQuota with a spec.
    """
    parts = (item.get("metadata"), item.get("spec"))
    return item.get("kind") in KINDS and all(isinstance(part, dict) for part in parts)


def _namespace_of(folder: Path, tree: Tree) -> str | None:
    """Return the namespace that the kustomization of a folder sets, or None."""
    content = _read(folder / _KUSTOMIZATION, tree)
    data: Any = next((document.data for document in _documents(content, _KUSTOMIZATION)), None)
    namespace = data.get("namespace") if isinstance(data, dict) else None
    return namespace if isinstance(namespace, str) else None
