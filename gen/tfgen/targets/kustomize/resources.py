"""Writes objects as resources or generators of a kustomization.

A resource is a file with an object. A generator creates a ConfigMap from files. The module writes all these files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from tfgen.graph.built import Objects
from tfgen.graph.holes import File
from tfgen.kubernetes.object import Object
from tfgen.record import Record
from tfgen.text import yaml_text

Sources: TypeAlias = Mapping[str, Mapping[str, File]]
"""The files with the data of each ConfigMap, by key of the ConfigMap in `Objects` and by key of the data."""

_GENERATED_FIELDS: Final = {"apiVersion", "kind", "metadata", "immutable", "data"}
"""The fields of a ConfigMap that `_generator` sets."""

_LONGEST_STEM: Final = 200
"""Maximum length of a file name without its extension. A file system allows 255 bytes."""


class Resources(Record):
    """The files and generators that give kustomize the objects of a base or an overlay.

    Attributes:
        paths: the paths of the files that contain one object each.
        generators: the fields of the kustomization that generate ConfigMaps from files.
        files: the text of each file that contains an object or becomes data of a ConfigMap, by path.
    """

    paths: tuple[str, ...]
    generators: Mapping[str, Any]
    files: Mapping[str, str]


def resources(objects: Objects, sources: Sources) -> Resources:
    """Return the files and generators that give kustomize the objects.

    A ConfigMap has a generator if `sources` contains its files, and if kustomize generates the ConfigMap without a
    mistake. Each other object has a file.
    """
    by_generator = {name for name, item in objects.items() if name in sources and _can_generate(item, sources[name])}
    object_files = {f"{file_stem(name)}.yaml": item for name, item in objects.items() if name not in by_generator}
    generated = [(item, sources[name]) for name, item in objects.items() if name in by_generator]
    texts = {file.path: file.text for _, files in generated for file in files.values()}
    entries = [_generator(item, files) for item, files in generated]
    return Resources(
        tuple(object_files),
        {"configMapGenerator": entries} if entries else {},
        {**{path: yaml_text.dump(item) for path, item in object_files.items()}, **texts},
    )


def _can_generate(item: Object, files: Mapping[str, File]) -> bool:
    """Test whether kustomize can generate the ConfigMap `item` from the files without a mistake.

    kustomize writes the keys of labels, annotations and data without quotes, and then reads ``1e3`` as a number
    (SetField in https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/yaml/fns.go). kustomize also writes a
    text of several lines as a literal block, and cannot parse some of these blocks
    (`yaml_text.is_misread_by_kustomize`). A generator cannot set a field that only a patch of the job adds.
    """
    metadata = item["metadata"]
    keys = [*metadata.get("labels", {}), *metadata.get("annotations", {}), *files]
    is_misread = any(yaml_text.is_misread_by_kustomize(file.text) for file in files.values())
    has_generated_fields = item.keys() == _GENERATED_FIELDS and item["data"].keys() == files.keys()
    return has_generated_fields and all(yaml_text.scalar(key) == key for key in keys) and not is_misread


def _generator(item: Object, files: Mapping[str, File]) -> dict[str, Any]:
    """Return the entry that generates a ConfigMap from files. The name already contains the digest of the files.

    https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/configmapgenerator/
    """
    metadata = item["metadata"]
    return {
        "name": metadata["name"],
        "files": [file.path for file in files.values()],
        "options": {
            "disableNameSuffixHash": True,
            "immutable": item["immutable"],
            "labels": metadata["labels"],
            "annotations": metadata["annotations"],
        },
    }


def file_stem(name: str) -> str:
    """Return a valid and unique file name, without the extension, for the object with the key `name`.

    The key may end with a name from job.yaml, such as the name of a volume or a priority class. So the key may be too
    long for a file name, and may contain dots, as in ``x.patch``.
    """
    stem = name.replace(".", "_")
    if len(stem) <= _LONGEST_STEM:
        return stem
    digest = hashlib.sha256(stem.encode()).hexdigest()[:8]
    return f"{stem[: _LONGEST_STEM - len(digest) - 1]}_{digest}"
