"""Writes entries of ``patches`` in a kustomization. An entry contains a patch and its target object."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from tfgen.data_path import texts
from tfgen.kubernetes.json_patch import Operation, changes_items, json_patch
from tfgen.kubernetes.merge_keys import STRATEGIC_GROUPS
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.targets.kustomize.patch import (
    changes_shape,
    has_key_only_item,
    merge_patch,
    replacing_patch,
    strategic_merge_patch,
)
from tfgen.text import yaml_text

Patch: TypeAlias = Object | list[Operation]
"""A merge patch (a mapping with the name of the patched object), or a JSON patch (a list of operations)."""

_WHY_KEY_ONLY: Final = (
    "# kustomize moves the items of a patch to the front of a list. An item with only a name keeps its place."
)

_WHY_TESTS: Final = (
    "# A path has the index of an item, not its name. Each test checks the name of the item before the change."
)


def _head(item: Object) -> dict[str, Any]:
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {"name": item["metadata"]["name"]}}


def delete_patch(item: Object) -> Patch:
    """Return the patch that deletes an object."""
    return {**_head(item), "$patch": "delete"}


def object_patch(item: Object, target: Object) -> Patch | None:
    """Return the patch that changes the object `item` into the object `target`; None if the objects are equal."""
    is_literal = literal_name(item) is not None
    if not is_literal and not merges_by_key(item) and changes_items(item, target) and _takes_json_patch(item, target):
        return json_patch(item, target)
    if is_literal and changes_shape(item, target):
        return json_patch(item, target)
    if is_literal:
        difference = replacing_patch(item, target)
    else:
        difference = strategic_merge_patch(item, target) if merges_by_key(item) else merge_patch(item, target)
    if not difference:
        return None
    head = _head(item)
    return {**head, **difference, "metadata": {**head["metadata"], **difference.get("metadata", {})}}


def _takes_json_patch(item: Object, target: Object) -> bool:
    """Test whether kustomize can apply a JSON patch to an object without a change of the object's other texts.

    kustomize writes the whole object as YAML, and reads this YAML again, before and after such a patch:
    https://github.com/kubernetes-sigs/kustomize/blob/master/api/filters/patchjson6902/patchjson6902.go
    """
    return not any(yaml_text.is_misread_by_kustomize(text) for part in (item, target) for _, text in texts(part))


def merges_by_key(item: Object) -> bool:
    """Test whether kustomize merges lists of an object item by item, such as `containers` by `name`."""
    return group(item) in STRATEGIC_GROUPS and literal_name(item) is None


def patch_target(item: Object, patch: Patch) -> dict[str, Any]:
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


def patch_text(item: Object, patch: Patch) -> str:
    """Return the YAML text of a patch.

    If the patch has items with only a name, or operations `test`, the first line is a comment with their purpose.
    """
    if isinstance(patch, list):
        has_test = any(operation["op"] == "test" for operation in patch)
        return f"{_WHY_TESTS}\n{yaml_text.dump(patch)}" if has_test else yaml_text.dump(patch)
    text = yaml_text.dump(dict(patch))
    return f"{_WHY_KEY_ONLY}\n{text}" if merges_by_key(item) and has_key_only_item(patch) else text
