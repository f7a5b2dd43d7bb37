"""The kustomize base and overlays of a job: ``overlays/NAME/base`` and ``overlays/NAME/ENVIRONMENT``.

An overlay is computed from the base's objects and the environment's: the image and the number of replicas by
kustomize's own words where they say it exactly, and one patch an object for all else: a merge patch, or a JSON patch
where an item of a list changes and kustomize does not know by which key the list merges. Objects that are gone are
deleted by a patch, new ones are files of the overlay. Where a job is retired its overlay has what stays, and no base.
The objects of a second run are the objects of the base with new names. A patch renames each object, and not
``namePrefix``: kustomize would not follow a name into an annotation, an argument or TF_CONFIG.

``namespace`` of a kustomization is the namespace of its environment, so that `kubectl apply -k` needs no ``-n``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.graph.built import Objects
from tfgen.graph.holes import File
from tfgen.job.training_job import TrainingJob
from tfgen.kubernetes.json_patch import Operation, changes_items, json_patch
from tfgen.kubernetes.merge_keys import STRATEGIC_GROUPS
from tfgen.kubernetes.object import Object, group, identity, literal_name
from tfgen.places import OVERLAYS
from tfgen.record import EMPTY, Record
from tfgen.targets.kustomize.images import as_changed, image_changes, with_images
from tfgen.targets.kustomize.patch import (
    changes_shape,
    has_bare_item,
    merge_patch,
    replacing_patch,
    strategic_merge_patch,
)
from tfgen.targets.kustomize.references import references, texts
from tfgen.text import yaml_text

_LONGEST_STEM: Final = 200
"""Characters; a file's name may have 255 bytes, its ending included."""

_HEAD: Final = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}

_WHY_BARE: Final = (
    "# kustomize puts first what a patch names: an item that has no more than its name only keeps its place."
)

_WHY_TESTS: Final = "# A path has the index of an item, not its name: each test holds what follows it to its item."

_SIZED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
"""The kinds of which kustomize changes the number of replicas."""

_REPLICAS: Final = ("spec", "replicas")

Patch: TypeAlias = Object | list[Operation]
"""What stands in a file of ``patches``: a merge patch, which names its object, or a JSON patch."""

Sources: TypeAlias = Mapping[str, Mapping[str, File]]
"""What the data of ConfigMaps are files of, by the names of the objects and the keys of their data."""


def kustomize(
    job: TrainingJob, base: Objects, environments: Mapping[str, Objects], sources: Sources = EMPTY
) -> dict[str, str]:
    """Return the files of the base and of each overlay.

    Args:
        job: the job, which names the namespaces and the retired environments.
        base: the objects of the job without an environment.
        environments: the objects of each environment.
        sources: the files of which kustomize makes ConfigMaps.
    """
    files = {f"base/{path}": text for path, text in _base(base, sources, job.namespace).items()}
    retired = {form.name for form in job.environments if not form.enabled}
    alike: dict[Hashable, dict[str, str]] = {}  # environments with the same objects have the same files
    for environment, objects in environments.items():
        is_retired, namespace = environment in retired, job.namespace_of(environment)
        key = (is_retired, namespace, *((file, id(item)) for file, item in objects.items()))
        if key not in alike:
            alike[key] = (
                _base(objects, sources, namespace) if is_retired else overlay(base, objects, sources, namespace)
            )
        files |= {f"{environment}/{path}": text for path, text in alike[key].items()}
    return {f"{OVERLAYS}/{job.name}/{path}": text for path, text in files.items()}


def overlay(base: Objects, wanted: Objects, sources: Sources = EMPTY, namespace: str | None = None) -> dict[str, str]:
    """Return the files of an overlay, which changes the objects of the base into the wanted objects."""
    pairs = _pairs(base, wanted)
    replicas = _replicas(pairs, wanted)
    old_items, new_items = [old for old, _ in pairs.values()], [new for _, new in pairs.values()]
    images = image_changes(old_items, new_items, list(wanted.values()))

    files: dict[str, str] = {}
    patches: list[dict[str, Any]] = []
    for name, item in base.items():
        if name not in pairs:
            patch: Patch | None = {**_head(item), "$patch": "delete"}
        else:
            _, becomes = pairs[name]
            # The image is changed last by kustomize, so the patch is made from the base as it is after that.
            sized = _with_replicas(item, replicas.get(becomes["metadata"]["name"]))
            changed = with_images(sized, as_changed(images)) if images else sized
            patch = _patch(changed, becomes)
        if patch:
            path = f"{file_stem(name)}.patch.yaml"
            files[path] = _patch_text(item, patch)
            patches.append({"path": path, **_target(item, patch)})
    kept = {identity(item) for item in new_items}
    new = _resources({name: item for name, item in wanted.items() if identity(item) not in kept}, sources)
    kustomization = {
        **_kustomization_head(namespace),
        "resources": ["../base", *new.resources],
        **new.generators,
        **({"images": [change.to_kustomize() for change in images]} if images else {}),
        **({"replicas": [{"name": name, "count": count} for name, count in replicas.items()]} if replicas else {}),
        **({"patches": patches} if patches else {}),
    }
    return {"kustomization.yaml": yaml_text.dump(kustomization), **new.files, **files}


def _pairs(base: Objects, wanted: Objects) -> dict[str, tuple[Object, Object]]:
    """The objects of the base that stay, and what each becomes, by the names of their files in the base.

    What has no namesake becomes what is of its kind and its place in the job: that of another run. But it goes, and
    another comes, where a user's reference has the old name, which kustomize would write anew; and so does what
    stands in the job as it is, to which anything may refer.
    """
    before = {identity(item) for item in base.values()}
    after = {identity(item): item for item in wanted.values()}
    others = {name: item for name, item in wanted.items() if identity(item) not in before}
    pairs = {}
    renamed = {}
    for name, item in base.items():
        version, kind, _ = identity(item)
        new = after.get(identity(item)) or others.get(name)
        if new and identity(new)[:2] == (version, kind):
            pairs[name] = (item, new)
            if identity(new) != identity(item):
                renamed[name] = (item, new)
    if renamed:
        referred = {reference for item in wanted.values() for reference in references(item)}
        named = {text for item in wanted.values() if literal_name(item) is not None for text in texts(item)}
    for name, (item, new) in renamed.items():
        _, kind, own_name = identity(item)
        followed = (kind, own_name) in referred or own_name in named or literal_name(item) is not None
        if followed or not _is_renamable(item, new):
            del pairs[name]
    return pairs


def _is_renamable(item: Object, becomes: Object) -> bool:
    """Whether kustomize keeps the labels and annotations of an object that it renames.

    It writes those of the patch anew, and the null that takes one out as the text "null":
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/resource/resource.go (CopyMergeMetaDataFieldsFrom).
    """
    old, new = item["metadata"], becomes["metadata"]
    return all(old.get(field, {}).keys() <= new.get(field, {}).keys() for field in ("labels", "annotations"))


def _target(item: Object, patch: Patch) -> dict[str, Any]:
    """What an entry of ``patches`` says where its patch does not name the object: it renames it, or names none.

    https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/
    """
    name = item["metadata"]["name"]
    if isinstance(patch, list):
        is_renamed = any(operation["path"] == "/metadata/name" for operation in patch)
    else:
        is_renamed = patch["metadata"]["name"] != name
        if not is_renamed:
            return {}
    pattern = name.replace(".", r"\.")  # of what a name may have, the one that a pattern reads otherwise
    of_group = {"group": group(item)} if group(item) else {}
    target = {**of_group, "kind": item["kind"], "name": f"^{pattern}$"}
    return {"target": target, **({"options": {"allowNameChange": True}} if is_renamed else {})}


def _patch_text(item: Object, patch: Patch) -> str:
    """The patch, with a word on what a reader would take for left over: tests, and items that say only their name."""
    if isinstance(patch, list):
        has_test = any(operation["op"] == "test" for operation in patch)
        return f"{_WHY_TESTS}\n{yaml_text.dump(patch)}" if has_test else yaml_text.dump(patch)
    text = yaml_text.dump(dict(patch))
    return f"{_WHY_BARE}\n{text}" if merges_by_key(item) and has_bare_item(patch) else text


def file_stem(name: str) -> str:
    """The name of an object's file, without its ending: no other's, and none that a file may not have.

    Behind a ``-`` in it may stand what a user calls a volume or a class: as long as a file's name, and with dots,
    ``x.patch`` too.
    """
    stem = name.replace(".", "_")
    if len(stem) <= _LONGEST_STEM:
        return stem
    digest = hashlib.sha256(stem.encode()).hexdigest()[:8]
    return f"{stem[: _LONGEST_STEM - len(digest) - 1]}_{digest}"


def merges_by_key(item: Object) -> bool:
    """Whether a patch of the object goes by the keys of its lists: where kustomize and tfgen both know them."""
    return group(item) in STRATEGIC_GROUPS and literal_name(item) is None


def _base(objects: Objects, sources: Sources, namespace: str | None) -> dict[str, str]:
    files = _resources(objects, sources)
    kustomization = {**_kustomization_head(namespace), "resources": list(files.resources), **files.generators}
    return {"kustomization.yaml": yaml_text.dump(kustomization), **files.files}


def _kustomization_head(namespace: str | None) -> dict[str, Any]:
    return {**_HEAD, **({"namespace": namespace} if namespace else {})}


class _Resources(Record):
    """Objects as kustomize is given them.

    Attributes:
        resources: the paths of those that are files.
        generators: the part of the kustomization that makes the others, of files that are no objects.
        files: the text of each of all these files, by its path.
    """

    resources: tuple[str, ...]
    generators: Mapping[str, Any]
    files: Mapping[str, str]


def _resources(objects: Objects, sources: Sources) -> _Resources:
    by_generator = {name for name, item in objects.items() if name in sources and _is_generated(item, sources[name])}
    written = {f"{file_stem(name)}.yaml": dict(item) for name, item in objects.items() if name not in by_generator}
    generated = [(item, sources[name]) for name, item in objects.items() if name in by_generator]
    texts = {file.path: file.text for _, files in generated for file in files.values()}
    entries = [_generator(item, files) for item, files in generated]
    return _Resources(
        tuple(written),
        {"configMapGenerator": entries} if entries else {},
        {**{path: yaml_text.dump(item) for path, item in written.items()}, **texts},
    )


def _is_generated(item: Object, files: Mapping[str, File]) -> bool:
    """Whether kustomize can make the ConfigMap. Where it cannot, the build fails.

    It writes the keys of labels, annotations and data without quotes, and ``1e3`` is no text then (SetField in
    https://github.com/kubernetes-sigs/kustomize/blob/master/kyaml/yaml/fns.go). It writes a text of several lines as a
    literal block (`yaml_text.is_misread_by_kustomize`).
    """
    metadata = item["metadata"]
    keys = [*metadata.get("labels", {}), *metadata.get("annotations", {}), *files]
    is_misread = any(yaml_text.is_misread_by_kustomize(file.text) for file in files.values())
    return all(yaml_text.scalar(key) == key for key in keys) and not is_misread


def _generator(item: Object, files: Mapping[str, File]) -> dict[str, Any]:
    """The entry that makes a ConfigMap of files, each under its own name. The graph's name says the digest already.

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


def _head(item: Object) -> dict[str, Any]:
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {"name": item["metadata"]["name"]}}


def _patch(item: Object, wanted: Object) -> Patch | None:
    is_literal = literal_name(item) is not None
    if not is_literal and not merges_by_key(item) and changes_items(item, wanted) and _takes_json_patch(item, wanted):
        return json_patch(item, wanted)
    if is_literal and changes_shape(item, wanted):
        return json_patch(item, wanted)
    if is_literal:
        difference = replacing_patch(item, wanted)
    else:
        difference = strategic_merge_patch(item, wanted) if merges_by_key(item) else merge_patch(item, wanted)
    if not difference:
        return None
    head = _head(item)
    return {**head, **difference, "metadata": {**head["metadata"], **difference.get("metadata", {})}}


def _takes_json_patch(item: Object, wanted: Object) -> bool:
    """Return whether kustomize can apply a JSON patch to the object.

    It writes the whole object as YAML before and after such a patch, and reads each text back:
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/patchjson6902/patchjson6902.go
    """
    return not any(yaml_text.is_misread_by_kustomize(text) for part in (item, wanted) for text in texts(part))


def _replicas(pairs: Mapping[str, tuple[Object, Object]], wanted: Objects) -> dict[str, int]:
    """How many replicas the StatefulSets of another size have, but for those whose name another that has a size has.

    kustomize finds them by name alone:
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/replicas.go
    """
    names = Counter(item["metadata"]["name"] for item in wanted.values() if item["kind"] in _SIZED)
    counts = {
        new["metadata"]["name"]: (_size(old), _size(new)) for old, new in pairs.values() if new["kind"] == "StatefulSet"
    }
    return {
        name: now
        for name, (was, now) in counts.items()
        if names[name] == 1 and was is not None and now is not None and was != now
    }


def _size(item: Object) -> int | None:
    """How many replicas an object asks for; None where it does not say, or says no number."""
    size = data_path.at(item, _REPLICAS)
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def _with_replicas(item: Object, count: int | None) -> Object:
    return item if count is None or item["kind"] != "StatefulSet" else data_path.with_value(item, _REPLICAS, count)
