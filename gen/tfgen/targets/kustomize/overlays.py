"""Writes the kustomize base and overlays of a job, ``overlays/NAME/base`` and ``overlays/NAME/ENVIRONMENT``.

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
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, Final, TypeAlias

from tfgen import data_path
from tfgen.data_path import texts
from tfgen.errors import TfgenError
from tfgen.graph.graph import BuiltJob, Objects, objects_with_run_name_of_job
from tfgen.graph.holes import File
from tfgen.kubernetes.merge import JSON_MERGE, merge, patched
from tfgen.kubernetes.merge import kustomize as kustomize_dialect
from tfgen.kubernetes.object import NAMESPACED_BY_KUSTOMIZE, Object, group, identity, literal_name
from tfgen.places import OVERLAYS
from tfgen.record import Record
from tfgen.targets.kustomize.patch import (
    OverlayPatch,
    delete_patch,
    image_changes,
    merges_by_key,
    new_names,
    object_patch,
    patch_target,
    patch_text,
    references,
    with_images,
    with_new_names,
)
from tfgen.text import yaml_text
from tfgen.text.parse import parse
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


def resources(objects: Objects, sources: Sources) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of a kustomization that give kustomize the objects, and the text of each file of these fields.

    A ConfigMap has a generator if `sources` contains its files, and if kustomize generates the ConfigMap without a
    mistake. Each other object has a file.
    """
    paths, entries = [], []
    files: dict[str, str] = {}
    for name, item in objects.items():
        if name in sources and _can_generate(item, sources[name]):
            entries.append(_generator(item, sources[name]))
            files |= {file.path: file.text for file in sources[name].values()}
        else:
            paths.append(f"{file_stem(name)}.yaml")
            files[paths[-1]] = yaml_text.dump(item)
    return {"resources": paths, "configMapGenerator": entries}, files


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
                before = objects_with_run_name_of_job(built, environment)
                files_by_content[key] = _overlay(base, before, objects, sources, namespace)
        files |= {f"{environment}/{path}": text for path, text in files_by_content[key].items()}
    note = generated_note(job.name)
    return {
        f"{OVERLAYS}/{job.name}/{path}": note + text if path.endswith(".yaml") and "/files/" not in path else text
        for path, text in files.items()
    }


def _base(objects: Objects, sources: Sources, namespace: str | None) -> dict[str, str]:
    fields, files = resources(objects, sources)
    return {"kustomization.yaml": _kustomization(fields, objects, namespace), **files}


def _overlay(base: Objects, before: Objects, after: Objects, sources: Sources, namespace: str | None) -> dict[str, str]:
    """Return the files of an overlay. The overlay changes the objects of the base, and then renames the objects.

    Args:
        base: the objects of the base.
        before: the objects of the environment with the names for the run of the base, such as mnist-worker.
        after: the objects of the environment with the names for its run, such as mnist-2-worker. The same mapping as
            `before` for an environment without a separate run.
        sources: the files of the ConfigMaps.
        namespace: the namespace of the environment.
    """
    pairs = object_pairs(base, before)
    rename = RunRename.of(before, after, pairs)
    replicas = replica_counts(rename.final, after)
    images = image_changes(
        [old for old, _ in rename.final.values()], [new for _, new in rename.final.values()], list(after.values())
    )
    new_images = {entry["name"]: entry for entry in images}
    files: dict[str, str] = {}
    patches: list[dict[str, Any]] = []
    for name, item in base.items():
        if name not in pairs:
            patch: OverlayPatch | None = delete_patch(item)
        else:
            # kustomize changes replicas and images after the patches, so the patches do not contain these changes.
            count = replicas.get(rename.final[name][1]["metadata"]["name"]) if name in rename.final else None
            changed = with_replicas(item, count)
            patch = object_patch(with_images(changed, new_images) if images else changed, pairs[name][1])
        if patch:
            path = f"{file_stem(name)}.patch.yaml"
            files[path] = patch_text(item, patch)
            patches.append({"path": path, **patch_target(item, patch)})
    new, new_files = resources(rename.resources(), sources)
    fields = {
        "resources": ["../base", *new["resources"]],
        "configMapGenerator": new["configMapGenerator"],
        "images": images,
        "replicas": [{"name": name, "count": count} for name, count in replicas.items()],
        "patches": [*patches, *rename.entries()],
    }
    text = _kustomization(fields, after, namespace).replace("\n- patch:", f"\n{_WHY_RENAMES}\n- patch:", 1)
    return {"kustomization.yaml": text, **new_files, **files}


def _kustomization(fields: Mapping[str, Any], objects: Objects, namespace: str | None) -> str:
    """Return the text of a kustomization without its empty fields, except for an empty list of resources.

    The field `transformers` removes the namespace of the kustomization from cluster-scoped objects.
    """
    kinds = {(group(item), item["kind"]) for item in objects.values() if item["kind"] in NAMESPACED_BY_KUSTOMIZE}
    transformers = [_WITHOUT_NAMESPACE.format(group=api_group, kind=kind) for api_group, kind in sorted(kinds)]
    head = {**_HEAD, **({"namespace": namespace} if namespace else {}), "sortOptions": {"order": "fifo"}}
    all_fields = {**fields, "transformers": transformers if namespace else []}
    return yaml_text.dump({**head, **{key: value for key, value in all_fields.items() if value or key == "resources"}})


# -- rename ------------------------------------------------------------------------------------------------------------
#
# Renames the objects of an environment that has a separate run.
#
# An overlay first changes the objects of the base, under the names of the base. The last patches then rename the
# objects for the run of the environment. So a new run changes these patches, and no other file of the overlay. The
# patches omit the references to renamed objects, which kustomize updates.


class RunRename(Record):
    """The objects of an environment, before and after the overlay renames the objects for the run of the environment.

    Each mapping has the keys of `Objects`, such as `worker`.

    Attributes:
        before: objects with the names for the run of the base, such as mnist-worker.
        after: objects with the names for the run of the environment, such as mnist-2-worker.
        pairs: the object in `before` and the object in `after`, for each object that kustomize can rename.
        final: each object of the base and its counterpart in `after`, for each object that kustomize can rename.
        from_base: API version, kind and name before the rename of each object that comes from the base. Example:
            {("apps/v1", "StatefulSet", "mnist-worker")}.
        added: the new objects of the overlay that kustomize can rename, before the rename. The mapping omits an object
            that has a different key after the rename, so that two objects never use the same file.
    """

    before: Objects
    after: Objects
    pairs: Mapping[str, tuple[Object, Object]]
    final: Mapping[str, tuple[Object, Object]]
    from_base: Set[tuple[str, str, str]]
    added: Objects

    @staticmethod
    def of(before: Objects, after: Objects, base_pairs: Mapping[str, tuple[Object, Object]]) -> RunRename:
        """Return the rename of the objects `before` to the objects `after`.

        For an environment without a separate run, both arguments are the same mapping. `base_pairs` has each object of
        the base with its counterpart in `before`.
        """
        pairs = {key: (item, item) for key, item in after.items()} if before is after else object_pairs(before, after)
        new = {identity(old): new for old, new in pairs.values()}
        final = {key: (item, new[identity(old)]) for key, (item, old) in base_pairs.items() if identity(old) in new}
        from_base = {identity(item) for _, item in base_pairs.values()}
        added = {
            key: old for key, (old, new) in pairs.items() if identity(old) not in from_base and new is after.get(key)
        }
        return RunRename(before, after, pairs, final, from_base, added)

    def resources(self) -> Objects:
        """Return the objects that have files in the overlay, by key of the object.

        A new object that kustomize can rename has the name before the rename. Any other object has its final name.
        """
        renamed = {
            identity(new)
            for key, (old, new) in self.pairs.items()
            if identity(old) in self.from_base or key in self.added
        }
        return {**self.added, **{key: item for key, item in self.after.items() if identity(item) not in renamed}}

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield the entries of ``patches`` that rename objects, or delete objects that kustomize cannot rename."""
        pairs = [
            (item, self.pairs.get(key, (item, None))[1])
            for key, item in self.before.items()
            if key in self.added or identity(item) in self.from_base
        ]
        names = new_names((item, new) for item, new in pairs if new is not None)
        for item, new in pairs:
            if new is None:
                patch: OverlayPatch | None = delete_patch(item)
            else:
                patch = None if new is item else object_patch(with_new_names(item, names), new)
            if patch:
                yield {"patch": patch_text(item, patch), **patch_target(item, patch)}


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
    pairs = {}
    renamed = {}
    for name, item in base.items():
        key, new = identity(item), target.get(name)
        if key in after:
            pairs[name] = (item, after[key])
        elif new and identity(new) not in before and identity(new)[:2] == key[:2]:
            pairs[name] = renamed[name] = (item, new)
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
    counts = {}
    for old, new in pairs.values():
        name, before, after = new["metadata"]["name"], _replicas_of(old), _replicas_of(new)
        if before is None or after is None or before == after:
            continue
        if new["kind"] == "StatefulSet" and names[name] == 1:
            counts[name] = after
    return counts


def _replicas_of(item: Object) -> int | None:
    """Return the number of replicas of an object; None if the field is missing or is not an integer."""
    replicas = data_path.at(item, _REPLICAS)
    return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None


def with_replicas(item: Object, count: int | None) -> Object:
    """Return a StatefulSet with `count` replicas. If `count` is None or the kind differs, return `item` unchanged."""
    return item if count is None or item["kind"] != "StatefulSet" else data_path.with_value(item, _REPLICAS, count)


# -- build -------------------------------------------------------------------------------------------------------------
#
# Builds the objects of a rendered overlay as `kustomize build` does, with the features that tfgen uses.
#
#     build_objects({"base/kustomization.yaml": ..., "dev/kustomization.yaml": ...}, "dev")
#         ->  ({"kind": "Service", ...}, ...)
#
# So tfgen can compare committed overlays of any version of tfgen on a machine without kustomize.


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
            changed = merge(item, patch, kustomize_dialect(item["kind"]) if merges_by_key(item) else JSON_MERGE)
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
