"""Computes short patches that change one object to another. `kubernetes.merge` applies such a patch.

>>> strategic_merge_patch({"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 3}})
{'spec': {'b': 3}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, Final, TypeAlias

from tfgen.data_path import texts
from tfgen.kubernetes.merge import (
    REPLACE,
    STRATEGIC_GROUPS,
    TOP_LISTS,
    Operation,
    changes_items,
    json_patch,
    kustomize_keys,
)
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.record import EMPTY, Record
from tfgen.text import yaml_text
from tfgen.text.yaml_text import have_equal_text

# -- references to objects ---------------------------------------------------------------------------------------------
#
# Finds the fields in which kustomize replaces the name of a renamed object, and replaces the name in the same way.
#
# >>> list(references({"spec": {"serviceName": "mnist"}}))
# [('Service', 'mnist')]
#
# If a patch renames an object, kustomize replaces the old name in the references of all objects. So the patches that
# rename the objects of tfgen omit these references. A reference of the user may name an object in another environment,
# and must not change. kustomize updates the references in these fields:
# https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go


NewNames: TypeAlias = Mapping[tuple[str, str], str]
"""The new name of each renamed object, by kind and old name. Example: {("Service", "mnist"): "mnist-2"}."""

# The kinds whose names contain the run. The value of a field is a name, a mapping with `name`, or a list of both.
_KINDS: Final[Mapping[str, str]] = {
    "configMap": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "resourceNames": "ConfigMap",
    "roleRef": "Role",
    "serviceAccountName": "ServiceAccount",
    "serviceName": "Service",
    "subjects": "ServiceAccount",
}

_POD_FIELDS: Final = (
    ("ServiceAccount", ("serviceAccountName",)),
    ("ConfigMap", ("volumes", "configMap", "name")),
    ("ConfigMap", ("volumes", "projected", "sources", "configMap", "name")),
    *(
        ("ConfigMap", (containers, *path))
        for containers in ("containers", "initContainers")
        for path in (("env", "valueFrom", "configMapKeyRef", "name"), ("envFrom", "configMapRef", "name"))
    ),
)
"""The fields of a pod that may name an object of a run: the kind of the named object, and the path of the field."""

_TEMPLATE_FIELDS: Final = tuple((kind, ("spec", "template", "spec", *path)) for kind, path in _POD_FIELDS)

_FIELDS: Final[Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]] = {
    "Deployment": _TEMPLATE_FIELDS,
    "Job": _TEMPLATE_FIELDS,
    "Pod": tuple((kind, ("spec", *path)) for kind, path in _POD_FIELDS),
    "RoleBinding": (("Role", ("roleRef", "name")), ("ServiceAccount", ("subjects", "name"))),
    "StatefulSet": (("Service", ("spec", "serviceName")), *_TEMPLATE_FIELDS),
}
"""The references in an object that kustomize updates, by kind of the object.

A reference is the kind of the named object, and the path of the field."""


def new_names(pairs: Iterable[tuple[Object, Object]]) -> NewNames:
    """Return the new name of each renamed object. Example: {("Service", "mnist"): "mnist-2"}.

    Each item of `pairs` contains an object before and after the rename. The key of the result contains the kind and the
    old name of the object.
    """
    names = ((old["kind"], old["metadata"]["name"], new["metadata"]["name"]) for old, new in pairs)
    return {(kind, old): new for kind, old, new in names if old != new}


def with_new_names(item: Object, names: NewNames) -> Object:
    """Return an object in which each reference to a renamed object has the new name.

    Only the fields in which kustomize updates references change.
    """
    for kind, path in _FIELDS.get(item["kind"], ()) if names else ():
        item = _replaced(item, path, {old: new for (renamed_kind, old), new in names.items() if renamed_kind == kind})
    return item


def _replaced(node: Any, path: Sequence[str], names: Mapping[str, str]) -> Any:
    """Return a part of an object in which the value at `path` has the new name. `names` contains new names by old name.

    If the path leads through a list, change each item of the list.
    """
    if isinstance(node, list):
        return [_replaced(child, path, names) for child in node]
    if not path:
        return names.get(node, node) if isinstance(node, str) else node
    key, *remaining = path
    if not isinstance(node, Mapping) or key not in node:
        return node
    return {**node, key: _replaced(node[key], remaining, names)}


def references(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each object to which an object may refer. kustomize may ignore some references."""
    if isinstance(node, Mapping):
        for key, child in node.items():
            for target in child if isinstance(child, list) else [child]:
                name = target.get("name") if isinstance(target, Mapping) else target
                if key in _KINDS and isinstance(name, str):
                    yield _KINDS[key], name
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)


# -- patches -----------------------------------------------------------------------------------------------------------


def merge_patch(before: Object, after: Object, keys: Mapping[str, Sequence[str]] = EMPTY) -> dict[str, Any]:
    """Return a JSON merge patch (RFC 7386). The patch removes a field by the value null, and replaces whole lists.

    The lists in `keys` are an exception: the patch merges these lists item by item, as in `strategic_merge_patch`. The
    mapping has the fields that identify an item, by name of the list. Example: {"env": ["name"]}.
    """
    patch: dict[str, Any] = {}
    for key, new in after.items():
        old = before.get(key)
        if key in before and old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            patch[key] = merge_patch(old, new, keys)
        elif key in keys and isinstance(old, list) and isinstance(new, list):
            patch[key] = _items(old, new, keys[key], keys)
        else:
            patch[key] = new
    return {**patch, **{key: None for key in before if key not in after}}


def strategic_merge_patch(before: Object, after: Object) -> dict[str, Any]:
    """Return a strategic merge patch, which merges some lists item by item, such as `containers` by `name`.

    The function `kustomize_keys` returns the names of these lists. kustomize inserts the items of a patch before all
    other items (https://github.com/kubernetes-sigs/kustomize/issues/4045). So a patch contains all items up to the last
    new or changed item, in the order of the result. If several keys identify an item, such as the number and the
    protocol of a port, the patch replaces the whole list: kustomize keeps the old order of such a list, and loses
    fields of an item that lacks one of the keys. The patch also replaces a list in which two items have the same key.
    """
    return merge_patch(before, after, kustomize_keys(after.get("kind", "")))


def replacing_patch(before: Object, after: Object) -> dict[str, Any]:
    """Return a patch that makes kustomize replace changed lists instead of merging the lists item by item.

    An object of an unknown kind needs such a patch. The patch replaces each mapping in which a list changes, or in
    which a field changes its type. The directive ``$patch: replace`` marks each replaced mapping. kustomize refuses the
    directive at the top level of an object, but merges only the lists in `TOP_LISTS` at this level. For such a list,
    the directive is the first item of the list.
    """
    merging = TOP_LISTS.get((group(before), before["kind"]), ())
    patch = _replacing(before, after)
    return {
        key: [dict(REPLACE), *value] if key in merging and isinstance(value, list) else value
        for key, value in patch.items()
    }


def changes_shape(before: Object, after: Object) -> bool:
    """Test whether kustomize cannot make a change with a merge patch.

    kustomize refuses a patch in which a top-level field, such as `data`, changes its type (mapping, list or scalar).
    kustomize keeps the quotes of a text that becomes a number, and writes no quotes around a text that was a number.
    """
    return _changes_text(before, after) or any(
        _shape(value) != _shape(after[key]) for key, value in before.items() if key in after
    )


def _changes_text(before: Any, after: Any) -> bool:
    """Test whether a text becomes a number or a boolean, or the reverse."""
    if isinstance(before, dict) and isinstance(after, dict):
        return any(_changes_text(value, after[key]) for key, value in before.items() if key in after)
    is_scalar = not any(isinstance(value, dict | list | NoneType) for value in (before, after))
    return is_scalar and isinstance(before, str) != isinstance(after, str)


def _shape(value: Any) -> type:
    return type(value) if isinstance(value, dict | list) else str


def _has_key_only_item(patch: Any, keys: Mapping[str, Sequence[str]]) -> bool:
    """Test whether a list in a strategic merge patch has an item that contains only its identifying fields.

    Such an item changes nothing, and only keeps the order of the list.
    """
    if not isinstance(patch, dict):
        return False
    keyed_lists = [(keys[key], items or ()) for key, items in patch.items() if key in keys]
    children = [child for item in patch.values() for child in (item if isinstance(item, list) else [item])]
    return any(item.keys() <= {*names} for names, items in keyed_lists for item in items) or any(
        _has_key_only_item(child, keys) for child in children
    )


def _replacing(before: Object, after: Object) -> dict[str, Any]:
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if key in before and have_equal_text(old, value):
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            patch[key] = {**REPLACE, **value} if _must_replace(old, value) else _replacing(old, value)
        else:
            patch[key] = value
    return patch


def _must_replace(before: Object, after: Object) -> bool:
    """Test whether two mappings differ in a list or in the type of a field, which kustomize cannot merge."""
    pairs = [(before[key], value) for key, value in after.items() if key in before]
    return any(
        isinstance(old, list) or _shape(old) != _shape(new) for old, new in pairs if not have_equal_text(old, new)
    )


def _items(
    before: Sequence[Object], after: Sequence[Object], names: Sequence[str], keys: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return the patch of a list whose items the fields `names` identify."""
    old, new = ({tuple(item.get(name) for name in names): item for item in items} for items in (before, after))
    if len(names) > 1 or len(old) < len(before) or len(new) < len(after):
        return [dict(REPLACE), *(dict(item) for item in after)]
    patches = [
        {**_item_key(item, names), **merge_patch(old[key], item, keys)} if key in old else dict(item)
        for key, item in new.items()
    ]
    # The remaining items without a change keep their order without the patch.
    order, number = [*new], len(patches)
    while number and patches[number - 1].keys() <= {*names}:
        remaining = order[number - 1 :]
        if [key for key in old if key in remaining] != remaining:
            break
        number -= 1
    removed = [item for key, item in old.items() if key not in new]
    return patches[:number] + [{"$patch": "delete", **_item_key(item, names)} for item in removed]


def _item_key(item: Object, names: Sequence[str]) -> dict[str, Any]:
    return {name: item[name] for name in names if name in item}


# -- patch entry -------------------------------------------------------------------------------------------------------
#
# Writes entries of ``patches`` in a kustomization. An entry contains a patch and its target object.


OverlayPatch: TypeAlias = Object | list[Operation]
"""A merge patch (a mapping with the name of the patched object), or a JSON patch (a list of operations)."""

_WHY_KEY_ONLY: Final = (
    "# kustomize moves the items of a patch to the front of a list. An item with only a name keeps its place."
)

_WHY_TESTS: Final = (
    "# A path has the index of an item, not its name. Each test checks the name of the item before the change."
)


def _head(item: Object) -> dict[str, Any]:
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {"name": item["metadata"]["name"]}}


def delete_patch(item: Object) -> OverlayPatch:
    """Return the patch that deletes an object."""
    return {**_head(item), "$patch": "delete"}


def object_patch(item: Object, target: Object) -> OverlayPatch | None:
    """Return the patch that changes the object `item` into the object `target`; None if the objects are equal."""
    if literal_name(item) is not None:
        if changes_shape(item, target):
            return json_patch(item, target)
        difference = replacing_patch(item, target)
    elif group(item) in STRATEGIC_GROUPS:
        difference = strategic_merge_patch(item, target)
    elif changes_items(item, target) and not _is_misread(item) and not _is_misread(target):
        return json_patch(item, target)
    else:
        difference = merge_patch(item, target)
    if not difference:
        return None
    head = _head(item)
    return {**head, **difference, "metadata": {**head["metadata"], **difference.get("metadata", {})}}


def _is_misread(item: Object) -> bool:
    """Test whether a JSON patch of an object would change other texts of the object.

    kustomize writes the whole object as YAML, and reads this YAML again, before and after such a patch:
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/patchjson6902/patchjson6902.go
    """
    return any(yaml_text.is_misread_by_kustomize(text) for _, text in texts(item))


def merges_by_key(item: Object) -> bool:
    """Test whether kustomize merges lists of an object item by item, such as `containers` by `name`."""
    return group(item) in STRATEGIC_GROUPS and literal_name(item) is None


def patch_target(item: Object, patch: OverlayPatch) -> dict[str, Any]:
    """Return the fields `target` and `options` for a JSON patch or a renaming patch; empty for other patches.

    https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/
    """
    name = item["metadata"]["name"]
    if isinstance(patch, list):
        is_renamed = any(operation["path"] == "/metadata/name" for operation in patch)
    else:
        is_renamed = patch["metadata"]["name"] != name
        if not is_renamed:
            return {}
    pattern = name.replace(".", r"\.")  # a target is a pattern; the dot is the only special character in a name
    group_field = {"group": group(item)} if group(item) else {}
    target = {**group_field, "kind": item["kind"], "name": f"^{pattern}$"}
    return {"target": target, **({"options": {"allowNameChange": True}} if is_renamed else {})}


def patch_text(item: Object, patch: OverlayPatch) -> str:
    """Return the YAML text of a patch.

    If the patch has items with only a name, or operations `test`, the first line is a comment with their purpose.
    """
    if isinstance(patch, list):
        has_test = any(operation["op"] == "test" for operation in patch)
        return f"{_WHY_TESTS}\n{yaml_text.dump(patch)}" if has_test else yaml_text.dump(patch)
    keeps_order = merges_by_key(item) and _has_key_only_item(patch, kustomize_keys(patch["kind"]))
    return f"{_WHY_KEY_ONLY}\n{yaml_text.dump(dict(patch))}" if keeps_order else yaml_text.dump(dict(patch))


# -- images ------------------------------------------------------------------------------------------------------------
#
# Computes the field ``images`` of a kustomization: the changes of images that this field can express exactly.
#
#     images:
#     - name: registry.example.com/ml/dist-mnist
#       newTag: 1.5.0
#
# kustomize changes each container whose image has the name, with any tag. So tfgen uses the field only if all these
# containers get the same image. https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/


_LISTS: Final = ("containers", "initContainers")
"""The names of the lists in which kustomize looks for images, at any depth of an object."""

_PATHS: Final = tuple(
    (*pod, *path)
    for pod in (("spec",), ("spec", "template", "spec"))
    for path in (("containers", "image"), ("initContainers", "image"), ("volumes", "image", "reference"))
)
"""The paths of images in every object, from kustomize's file api/internal/konfig/builtinpluginconsts/images.go."""

_SKIPPED_KIND: Final = "CustomResourceDefinition"
"""The kind of objects in which kustomize does not change the images of containers."""


class Image(Record):
    """The parts of an image: the name with the registry, the tag and the digest. A missing part is empty."""

    name: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Image:
        """Parse ``NAME[:TAG][@DIGEST]``. A colon before the last slash is part of the registry's port."""
        tagged_name, _, digest = text.partition("@")
        path, slash, last = tagged_name.rpartition("/")
        base, _, tag = last.partition(":")
        return cls(path + slash + base, tag, digest)

    def changed(self, entry: Mapping[str, str]) -> Image:
        """Return the image into which an entry of the field ``images`` changes this image."""
        name = entry.get("newName", self.name)
        if "digest" in entry:
            return Image(name, "", entry["digest"])
        return Image(name, entry["newTag"], "") if "newTag" in entry else Image(name, self.tag, self.digest)

    def __str__(self) -> str:
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def image_changes(before: Sequence[Object], after: Sequence[Object], overlay: Sequence[Object]) -> list[dict[str, str]]:
    """Return the field ``images`` with the changes that the field can express exactly. Patches make all other changes.

    Patches change an image in these cases:

    - The image loses its tag or digest.
    - Two containers that had the same image get different images.
    - An object of the overlay has an image with the same name and another tag. ``images`` would change this image as
      well, because kustomize applies ``images`` after the patches and to all objects.
    - An object has a value of an unexpected type at the path of an image. With ``images``, kustomize would fail, so
      patches change all images.

    Args:
        before: the objects that the overlay neither adds nor deletes, before the change.
        after: the same objects, after the change.
        overlay: all objects of the overlay, after the change.
    """
    differing = ((old, new) for old, new in zip(before, after, strict=True) if old is not new)
    if all([*_images(old)] == [*_images(new)] for old, new in differing):
        return []
    items = {id(item): item for item in (*before, *after, *overlay)}  # most objects are in several arguments
    images = {key: [*_images(item)] for key, item in items.items()}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for old, new in zip(before, after, strict=True):
        new_images = dict(images[id(new)])
        for path, image in images[id(old)]:
            if path in new_images:
                pairs.setdefault(Image.parse(image).name, set()).add((image, new_images[path]))
    final = {image for item in overlay for image in matched_images(item)}
    if None in final:
        return []
    entries = []
    for name, changes in sorted(pairs.items()):
        (old_text, new_text), *conflicts = changes
        was, now = Image.parse(old_text), Image.parse(new_text)
        is_exact = not now.tag if now.digest else not was.digest and bool(now.tag)
        is_safe = all(image == new_text for image in final if image is not None and _matches(name, image))
        if not conflicts and old_text != new_text and _matches(name, old_text) and is_exact and is_safe:
            entry = {"name": name, **({"newName": now.name} if now.name != name else {})}
            if now.digest:
                entry["digest"] = now.digest
            elif now.tag != was.tag:
                entry["newTag"] = now.tag
            entries.append(entry)
    return entries


def matched_images(item: Object) -> Iterator[str | None]:
    """Yield the text of each image that kustomize finds in an object.

    Yield None for each value on which kustomize fails, such as an image that is a number.
    """
    if item["kind"] != _SKIPPED_KIND:
        yield from _container_images(item)
    for path in _PATHS:
        yield from _image_texts(item, path)


def with_images(item: Object, entries: Mapping[str, Mapping[str, str]]) -> Object:
    """Return the object after the changes of the field ``images``, whose entries are in `entries` by their name."""
    replaced: Object = item if item["kind"] == _SKIPPED_KIND else _with_images(item, entries)
    return replaced


def _matches(name: str, image: str) -> bool:
    """Test whether an entry of ``images`` with the name `name` changes an image in kustomize.

    The name is a pattern, in which a dot matches any character:

    https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/image/image.go
    """
    return re.fullmatch(f"{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?", image) is not None


def _images(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the path and the image of each container.

    The path contains the name of the container instead of its index. Example:
    (("spec", "containers", "tensorflow"), "registry.example.com/ml/dist-mnist:1.4.0").
    """
    if isinstance(node, dict):
        for key, child in node.items():
            if key in _LISTS and isinstance(child, list):
                for index, container in enumerate(child):
                    if _has_image(container):
                        yield (*path, key, container.get("name", index)), container["image"]
            else:
                yield from _images(child, (*path, key))


def _container_images(node: Any) -> Iterator[str | None]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _container_images(child)
            for container in child if key in _LISTS and isinstance(child, list) else ():
                if not isinstance(container, dict):
                    yield None
                elif "image" in container:
                    yield container["image"] if _has_image(container) else None
    elif isinstance(node, list):
        for child in node:
            yield from _container_images(child)


def _image_texts(node: Any, path: Sequence[str]) -> Iterator[str | None]:
    """Yield the text at a path; None for a value of an unexpected type.

    If the path leads through a list, search each item of the list.
    """
    if not path:
        yield node if isinstance(node, str) else None
    elif isinstance(node, list):
        for child in node:
            yield from _image_texts(child, path)
    elif isinstance(node, dict):
        key, *remaining = path
        if key in node:
            yield from _image_texts(node[key], remaining)
    else:
        yield None


def _with_images(node: Any, entries: Mapping[str, Mapping[str, str]]) -> Any:
    if isinstance(node, list):
        return [_with_images(item, entries) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _with_images(child, entries) for key, child in node.items()}
    for key in _LISTS:
        containers = out.get(key)
        for container in containers if isinstance(containers, list) else ():
            image = Image.parse(container["image"]) if _has_image(container) else None
            if image and image.name in entries:
                container["image"] = str(image.changed(entries[image.name]))
    return out


def _has_image(container: Any) -> bool:
    return isinstance(container, dict) and isinstance(container.get("image"), str)
