"""Writes the kustomize base and overlays of a job: ``overlays/NAME/base`` and ``overlays/NAME/ENVIRONMENT``.

An overlay changes the objects of the base into the objects of the environment. The fields `images` and `replicas` of
the kustomization change images and numbers of replicas, if the fields can express the changes exactly. A patch for each
object makes all other changes. The patch is a JSON patch if an item of a list changes and kustomize does not know the
key of the list, and a merge patch in all other cases. A patch can also delete an object. Each new object has a file in
the overlay. The overlay of a retired environment does not use the base: it contains the remaining objects as files.

An environment with a separate run has a second group of patches, which rename the objects (`rename`). ``nameSuffix``
cannot rename the objects, because the run is in the middle of a name (mnist-2-worker), and because kustomize does not
rename an object in an annotation, an argument or TF_CONFIG.

``namespace`` of a kustomization is the namespace of its environment, so that `kubectl apply -k` needs no ``-n``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import texts
from tfgen.graph.graph import BuiltJob, Objects, objects_with_run_name_of_job
from tfgen.graph.holes import File
from tfgen.kubernetes.object import NAMESPACED_BY_KUSTOMIZE, Object, group, identity, literal_name
from tfgen.places import OVERLAYS
from tfgen.record import Record
from tfgen.targets.kustomize.images import image_changer, image_changes, with_images
from tfgen.targets.kustomize.patch import (
    OverlayPatch,
    delete_patch,
    new_names,
    object_patch,
    patch_target,
    patch_text,
    references,
    with_new_names,
)
from tfgen.text import yaml_text
from tfgen.tree.ledger import generated_note

# -- resources and generators ------------------------------------------------------------------------------------------
#
# A resource is a file with an object. A generator creates a ConfigMap from files.


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


# -- the base and the overlays -----------------------------------------------------------------------------------------


_HEAD: Final = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}

_WITHOUT_NAMESPACE: Final = """\
apiVersion: builtin
kind: PatchTransformer
metadata:
  name: cluster-scoped
target:
  group: {group}
  kind: {kind}
patch: |-
  - op: remove
    path: /metadata/namespace"""
"""A transformer, which runs after kustomize has set the namespaces, for a kind that kustomize takes for namespaced."""

_WHY_RENAMES: Final = "# The patches below rename the objects for the run of this environment."


def kustomize(built: BuiltJob) -> dict[str, str]:
    """Return the files of the base and of each overlay."""
    job, base = built.job, built.base
    sources = {template.name: template.files for template in built.templates if template.files}
    files = {f"base/{path}": text for path, text in _base(base, sources, job.namespace).items()}
    retired = {item.name for item in job.environments if not item.enabled}
    files_by_content: dict[Hashable, dict[str, str]] = {}  # equal objects have equal files
    for environment, objects in built.environments.items():
        is_retired, namespace = environment in retired, job.namespace_of(environment)
        key = (is_retired, namespace, *((file, id(item)) for file, item in objects.items()))
        if key not in files_by_content:
            if is_retired:
                files_by_content[key] = _base(objects, sources, namespace)
            else:
                rename = Rename.of(objects_with_run_name_of_job(built, environment), objects)
                files_by_content[key] = _overlay(base, rename, sources, namespace)
        files |= {f"{environment}/{path}": text for path, text in files_by_content[key].items()}
    note = generated_note(job.name)
    return {
        f"{OVERLAYS}/{job.name}/{path}": note + text if path.endswith(".yaml") and "/files/" not in path else text
        for path, text in files.items()
    }


def _base(objects: Objects, sources: Sources, namespace: str | None) -> dict[str, str]:
    files = resources(objects, sources)
    kustomization = {
        **_kustomization_head(namespace),
        "resources": list(files.paths),
        **files.generators,
        **_transformers(objects, namespace),
    }
    return {"kustomization.yaml": yaml_text.dump(kustomization), **files.files}


def _overlay(base: Objects, rename: Rename, sources: Sources, namespace: str | None) -> dict[str, str]:
    """Return the files of an overlay. The overlay changes the objects of the base, and then renames the objects."""
    pairs = object_pairs(base, rename.before)
    final = rename.renamed_pairs(pairs)
    replicas = replica_counts(final, rename.after)
    images = image_changes(
        [old for old, _ in final.values()], [new for _, new in final.values()], list(rename.after.values())
    )
    files: dict[str, str] = {}
    patches: list[dict[str, Any]] = []
    for name, item in base.items():
        if name not in pairs:
            patch: OverlayPatch | None = delete_patch(item)
        else:
            # kustomize changes replicas and images after the patches, so the patches do not contain these changes.
            changed = with_replicas(item, replicas.get(final[name][1]["metadata"]["name"]) if name in final else None)
            patch = object_patch(with_images(changed, image_changer(images)) if images else changed, pairs[name][1])
        if patch:
            path = f"{file_stem(name)}.patch.yaml"
            files[path] = patch_text(item, patch)
            patches.append({"path": path, **patch_target(item, patch)})
    from_base = {identity(new) for _, new in pairs.values()}
    patches += rename.entries(from_base)
    new = resources(rename.resources(from_base), sources)
    kustomization = {
        **_kustomization_head(namespace),
        "resources": ["../base", *new.paths],
        **new.generators,
        **({"images": [change.to_kustomize() for change in images]} if images else {}),
        **({"replicas": [{"name": name, "count": count} for name, count in replicas.items()]} if replicas else {}),
        **({"patches": patches} if patches else {}),
        **_transformers(rename.after, namespace),
    }
    text = yaml_text.dump(kustomization).replace("\n- patch:", f"\n{_WHY_RENAMES}\n- patch:", 1)
    return {"kustomization.yaml": text, **new.files, **files}


def _transformers(objects: Objects, namespace: str | None) -> dict[str, Any]:
    """Return the field that removes the namespace of the kustomization from cluster-scoped objects."""
    kinds = {(group(item), item["kind"]) for item in objects.values() if item["kind"] in NAMESPACED_BY_KUSTOMIZE}
    entries = [_WITHOUT_NAMESPACE.format(group=api_group, kind=kind) for api_group, kind in sorted(kinds)]
    return {"transformers": entries} if namespace and entries else {}


def _kustomization_head(namespace: str | None) -> dict[str, Any]:
    return {**_HEAD, **({"namespace": namespace} if namespace else {}), "sortOptions": {"order": "fifo"}}


# -- rename ------------------------------------------------------------------------------------------------------------
#
# Renames the objects of an environment that has a separate run.
#
# An overlay first changes the objects of the base, under the names of the base. The last patches then rename the
# objects for the run of the environment. So a new run changes these patches, and no other file of the overlay. The
# patches omit the references to renamed objects, which kustomize updates.


Identity: TypeAlias = tuple[str, str, str]


class Rename(Record):
    """The objects of an environment, before and after the overlay renames the objects for the run of the environment.

    Each mapping has the keys of `Objects`, such as `worker`.

    Attributes:
        before: objects with the names for the run of the base, such as mnist-worker.
        after: objects with the names for the run of the environment, such as mnist-2-worker.
        pairs: the object in `before` and the object in `after`, for each object that kustomize can rename.
    """

    before: Objects
    after: Objects
    pairs: Mapping[str, tuple[Object, Object]]

    @staticmethod
    def of(before: Objects, after: Objects) -> Rename:
        """Return the rename of the objects `before` to the objects `after`.

        For an environment without a separate run, both arguments are the same mapping.
        """
        identical = {key: (item, item) for key, item in after.items()}
        return Rename(before, after, identical if before is after else object_pairs(before, after))

    def renamed_pairs(self, pairs: Mapping[str, tuple[Object, Object]]) -> dict[str, tuple[Object, Object]]:
        """Return each object of the base with its counterpart in the environment after the rename.

        Omit objects that kustomize cannot rename.

        Args:
            pairs: each object of the base with its counterpart in the environment before the rename, by key of the
                object.
        """
        renamed_objects = {identity(old): new for old, new in self.pairs.values()}
        return {
            key: (item, renamed_objects[identity(old)])
            for key, (item, old) in pairs.items()
            if identity(old) in renamed_objects
        }

    def resources(self, from_base: Collection[Identity]) -> Objects:
        """Return the objects that have files in the overlay, by key of the object.

        A new object that kustomize can rename has the name before the rename. Any other object has its final name.

        Args:
            from_base: API version, kind and name before the rename of each object that comes from the base. Example:
                {("apps/v1", "StatefulSet", "mnist-worker")}.
        """
        added = self._added(from_base)
        renamed = {
            identity(new) for key, (old, new) in self.pairs.items() if identity(old) in from_base or key in added
        }
        return {**added, **{key: item for key, item in self.after.items() if identity(item) not in renamed}}

    def entries(self, from_base: Collection[Identity]) -> Iterator[dict[str, Any]]:
        """Yield the entries of ``patches`` that rename objects, or delete objects that kustomize cannot rename.

        The parameter `from_base` has the same meaning as in `resources`.
        """
        added = self._added(from_base)
        pairs = [
            (item, self.pairs.get(key, (item, None))[1])
            for key, item in self.before.items()
            if key in added or identity(item) in from_base
        ]
        names = new_names((item, new) for item, new in pairs if new is not None)
        for item, new in pairs:
            if new is None:
                patch: OverlayPatch | None = delete_patch(item)
            else:
                patch = None if new is item else object_patch(with_new_names(item, names), new)
            if patch:
                yield {"patch": patch_text(item, patch), **patch_target(item, patch)}

    def _added(self, from_base: Collection[Identity]) -> Objects:
        """Return the new objects of the overlay that kustomize can rename, before the rename, by key of the object.

        Omit an object that has a different key after the rename, so that two objects never use the same file.
        """
        return {
            key: old
            for key, (old, new) in self.pairs.items()
            if identity(old) not in from_base and new is self.after.get(key)
        }


# -- pairs -------------------------------------------------------------------------------------------------------------
#
# Pairs each object of the base with its counterpart in an environment. The counterpart may have a new name.
#
# object_pairs({"worker": <StatefulSet mnist-worker>}, {"worker": <StatefulSet mnist-2-worker>})
#     ->  {"worker": (<StatefulSet mnist-worker>, <StatefulSet mnist-2-worker>)}


def object_pairs(base: Objects, target: Objects) -> dict[str, tuple[Object, Object]]:
    """Return each object of the base with its counterpart in an environment, by key of the object in the base.

    The counterpart has the same kind and name. If the environment has no such object, the counterpart has the same kind
    and key, and a new name, because the environment has a different run. Omit an object with a new name in the
    following cases. kustomize then deletes the old object and adds the new object:

    - A reference of the user contains the old name. kustomize would change the reference.
    - The object comes from `objects` in job.yaml. Any text can refer to such an object.
    - The object loses a label or an annotation, or YAML needs quotes around the new name (`_is_renamable`).
    """
    before = {identity(item) for item in base.values()}
    after = {identity(item): item for item in target.values()}
    new_objects = {name: item for name, item in target.items() if identity(item) not in before}
    pairs = {}
    renamed = {}
    for name, item in base.items():
        version, kind, _ = identity(item)
        new = after.get(identity(item)) or new_objects.get(name)
        if new and identity(new)[:2] == (version, kind):
            pairs[name] = (item, new)
            if identity(new) != identity(item):
                renamed[name] = (item, new)
    if renamed:
        referred = {reference for item in target.values() for reference in references(item)}
        user_texts = {text for item in target.values() if literal_name(item) is not None for _, text in texts(item)}
    for name, (item, new) in renamed.items():
        _, kind, old_name = identity(item)
        is_referred = (kind, old_name) in referred or old_name in user_texts or literal_name(item) is not None
        if is_referred or not _is_renamable(item, new):
            del pairs[name]
    return pairs


def _is_renamable(item: Object, new_item: Object) -> bool:
    """Test whether kustomize sets the correct name, labels and annotations when a patch renames an object.

    kustomize writes the new name without quotes, so that the name "123" becomes a number. kustomize copies the labels
    and annotations of the patch. A null, which removes a label, becomes the text "null":
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/resource/resource.go (CopyMergeMetaDataFieldsFrom).
    """
    old, new = item["metadata"], new_item["metadata"]
    is_plain = yaml_text.scalar(new["name"]) == new["name"]
    return is_plain and all(
        old.get(field, {}).keys() <= new.get(field, {}).keys() for field in ("labels", "annotations")
    )


# -- replicas ----------------------------------------------------------------------------------------------------------
#
# Computes the field ``replicas`` of a kustomization, which changes the numbers of replicas of StatefulSets.


_SIZED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
"""The kinds of objects whose number of replicas kustomize changes by the field ``replicas``."""

_REPLICAS: Final = ("spec", "replicas")


def replica_counts(pairs: Mapping[str, tuple[Object, Object]], overlay: Objects) -> dict[str, int]:
    """Return the new number of replicas of each StatefulSet whose number changes. Example: {"mnist-worker": 4}.

    kustomize finds the objects only by name. So a StatefulSet is omitted if, for example, a Deployment has the same
    name: https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/replicas.go
    """
    names = Counter(item["metadata"]["name"] for item in overlay.values() if item["kind"] in _SIZED)
    counts = {
        new["metadata"]["name"]: (_replicas_of(old), _replicas_of(new))
        for old, new in pairs.values()
        if new["kind"] == "StatefulSet"
    }
    return {
        name: new
        for name, (old, new) in counts.items()
        if names[name] == 1 and old is not None and new is not None and old != new
    }


def _replicas_of(item: Object) -> int | None:
    """Return the number of replicas of an object; None if the field is missing or is not an integer."""
    replicas = data_path.at(item, _REPLICAS)
    return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None


def with_replicas(item: Object, count: int | None) -> Object:
    """Return a StatefulSet with `count` replicas. If `count` is None or the kind differs, return `item` unchanged."""
    return item if count is None or item["kind"] != "StatefulSet" else data_path.with_value(item, _REPLICAS, count)
