"""What the repository has of a namespace that decides whether a job's pods are made there, and what they reach.

    read_foreign_manifests(Path("."), read_ledgers(Path(".")))
      ->  (Manifest("k8s/quota.yaml", {"kind": "ResourceQuota", ...}, "ml"), ...)

Only manifests that somebody wrote are read: those that tfgen renders are in its ledgers. A file that is no plain YAML,
such as a chart's template, is passed over, since nobody knows what comes of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.text.parse import MAX_BYTES, decode, parse
from tfgen.tree.ledgers import Ledgers

KINDS: Final = ("LimitRange", "NetworkPolicy", "ResourceQuota")

_SUFFIXES: Final = (".yaml", ".yml")
_KUSTOMIZATION: Final = "kustomization.yaml"
_OURS: Final = re.compile(rf"^\s*(- )?[\"']?kind[\"']?:\s*[\"']?({'|'.join(KINDS)})\b".encode(), re.MULTILINE)


class Manifest(Record):
    """An object of the repository.

    Attributes:
        file: where it stands, from the repository's root.
        item: the object.
        namespace: its own, or that of the kustomization beside it; none where neither says one.
    """

    file: str
    item: Object
    namespace: str | None

    def __str__(self) -> str:
        return f"{self.item['kind']} {self.item['metadata'].get('name', '')} of {self.file}"


def read_foreign_manifests(out: Path, ledgers: Ledgers) -> tuple[Manifest, ...]:
    """All manifests of the three kinds below an output folder that tfgen did not write, by file.

    What cannot be read is passed over.

    Args:
        out: the folder.
        ledgers: of all jobs that were rendered there.

    Raises:
        TfgenError: a ledger was changed meanwhile.
    """
    return tuple(manifest for path in sorted(_files(out, ledgers)) for manifest in _manifests(out, path))


def literal_manifests(file: str, items: Iterable[Object], namespace: str | None) -> Iterator[Manifest]:
    """The same of the objects that stand in a job as they are."""
    return (Manifest(file, item, namespace) for item in items if _is_of_namespace(item))


def _files(root: Path, ledgers: Ledgers) -> Iterator[Path]:
    for above, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(above, name)
            if path.suffix in _SUFFIXES and not ledgers.lists(path.relative_to(root).as_posix()):
                yield path


def _manifests(root: Path, path: Path) -> Iterator[Manifest]:
    content = _read(path)
    if not _OURS.search(content):
        return
    file = path.relative_to(root).as_posix()
    for item in _objects(_documents(content, file)):
        namespace = item["metadata"].get("namespace") or _namespace_of(path.parent)
        yield Manifest(file, item, namespace)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_BYTES else b""
    except OSError:
        return b""


def _documents(content: bytes, file: str) -> Sequence[Document]:
    text = decode(content, file)
    if not isinstance(text, str):
        return ()
    parsed = parse(text, file)
    return () if parsed.problems else parsed.documents


def _objects(documents: Sequence[Document]) -> Iterator[Object]:
    """The objects of the three kinds that have a spec, those in a List too."""
    for document in documents:
        data = document.data
        items = data.get("items") if isinstance(data, dict) and data.get("kind") == "List" else [data]
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and _is_of_namespace(item):
                yield item


def _is_of_namespace(item: Object) -> bool:
    """Whether an object is one of the three kinds, and has a spec."""
    parts = (item.get("metadata"), item.get("spec"))
    return item.get("kind") in KINDS and all(isinstance(part, dict) for part in parts)


def _namespace_of(folder: Path) -> str | None:
    """What the kustomization of a folder puts its objects into."""
    content = _read(folder / _KUSTOMIZATION)
    data: Any = next((document.data for document in _documents(content, _KUSTOMIZATION)), None)
    namespace = data.get("namespace") if isinstance(data, dict) else None
    return namespace if isinstance(namespace, str) else None
