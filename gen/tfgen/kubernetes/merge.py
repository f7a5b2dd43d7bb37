"""Patches merged into objects by the rules of kubectl, of kustomize, or of a JSON merge patch.

    >>> merge({"spec": {"a": 1, "b": 2}}, {"spec": {"b": None}}, KUBECTL)
    {'spec': {'a': 1}}

Mappings are merged, and null removes a key. The `Dialect` contains the rules of the tool for lists: which lists are
merged, and in which order. Any other list is replaced. A patch item with ``$patch: delete`` removes the list item with
the same key. If a list of the patch contains ``$patch: replace``, the other items of the patch's list replace the whole
list of the object. A patch mapping with ``$patch: replace`` replaces the whole mapping of the object.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md

The function `pair` matches the items of two lists, for this module and for `graph.patches.edits`, which merges patches
into objects with holes (placeholders for values of the chart). `pair` differs from kubectl in one case: kubectl merges
two ports that have the same number and different protocols (https://github.com/kubernetes/kubernetes/issues/39188).

Three other modules merge by other rules. `tunables.merge` merges Helm values, and keeps a null for a key that the
chart's values do not have. `job.defaults` merges the layers of a job: if the schema allows only one of several keys,
the key in the job replaces the other keys in the layers. `importers.train_job` keeps the position of each merged value
in the file, and reports each overridden value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.record import EMPTY, Record

# -- merge keys --------------------------------------------------------------------------------------------------------
#
# The lists of Kubernetes objects that patches merge by a key, such as `containers` by `name`.


# The lists with a ``patchMergeKey`` in a PodTemplateSpec and in the metadata of an object
# (staging/src/k8s.io/api/core/v1/types.go of Kubernetes).
MERGE_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "evictionResponders": "name",
    "ownerReferences": "uid",
}

_UNKNOWN_TO_KUSTOMIZE: Final = ("resourceClaims", "schedulingGates", "evictionResponders")
"""Lists that kustomize 5 replaces instead of merging, because kustomize 5 uses the schema of Kubernetes 1.21."""

SECOND_KEY_FIELDS: Final[Mapping[str, tuple[str, str | None]]] = {
    "ports": ("protocol", "TCP"),
    "topologySpreadConstraints": ("whenUnsatisfiable", None),
}
"""For some lists, the field that distinguishes two items with the same merge key, and the default of this field.

The merge key and this field are the ``x-kubernetes-list-map-keys`` of the list.
"""

_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {"Service": {"ports": "port"}}
"""The merge keys of lists outside of pods, for lists whose name in pods has another merge key, by the kind."""


def merge_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the key field of each list that the API server merges in an object of the kind `kind`.

    Example for a Pod: {"containers": ("name",), "ports": ("containerPort",)}. Each list has one key field.
    """
    return {field: (key,) for field, key in {**MERGE_KEYS, **_OF_KIND.get(kind, {})}.items()}


def kustomize_keys(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the key fields of each list that kustomize merges in an object of the kind `kind`.

    Example for a Service: {"containers": ("name",), "ports": ("port", "protocol")}. All key fields together identify an
    item.
    """
    keys = {field: names for field, names in merge_keys(kind).items() if field not in _UNKNOWN_TO_KUSTOMIZE}
    return {**keys, **{field: (*keys[field], second) for field, (second, _) in SECOND_KEY_FIELDS.items()}}


KUSTOMIZE_KEYS: Final[Mapping[str, tuple[str, ...]]] = kustomize_keys("Pod")
"""The lists that kustomize merges in a pod, with the fields that identify an item."""


TOP_LISTS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ServiceAccount"): ("secrets",),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks",),
}
"""The top-level lists that patches merge by a key, by the API group and the kind of the object.

The table contains every such list outside metadata and status (``patchMergeKey`` in staging/src/k8s.io/api).
"""

STRATEGIC_GROUPS: Final = ("", "apps", "batch", "networking.k8s.io", "policy", "rbac.authorization.k8s.io")
"""The API groups whose kinds support strategic merge patches. All other kinds use JSON merge patches."""


# -- patches -----------------------------------------------------------------------------------------------------------


REPLACE: Final[Mapping[str, Any]] = {"$patch": "replace"}
"""The directive by which a patch replaces a whole list or mapping."""


class Dialect(Record):
    """The rules by which a tool merges lists.

    Attributes:
        keys: the fields that identify an item, for each list that the tool merges. Example: {"containers": ("name",)}.
        puts_patch_first: whether the merged list begins with the items of the patch, in the order of the patch.
    """

    keys: Mapping[str, Sequence[str]]
    puts_patch_first: bool = False


JSON_MERGE: Final = Dialect(EMPTY)
"""The rules of a JSON merge patch (RFC 7386), which also works for custom resources."""


def kubectl(kind: str) -> Dialect:
    """Return the rules by which kubectl and the API server apply a strategic merge patch to a kind."""
    return Dialect(merge_keys(kind))


KUBECTL: Final = kubectl("Pod")
"""The rules by which kubectl applies a strategic merge patch to pods."""


def kustomize(kind: str) -> Dialect:
    """Return the rules by which kustomize applies a strategic merge patch to a kind.

    kustomize moves the items of the patch to the front of a list. If the items have several key fields, such as `port`
    and `protocol`, kustomize moves only the items that the patch adds to the list:
    https://github.com/kubernetes-sigs/kustomize/issues/4045. kustomize ignores a key field that no item has
    (`validateKeys` in kyaml/yaml/walk/associative_sequence.go).
    """
    return Dialect(kustomize_keys(kind), puts_patch_first=True)


def merge(under: Any, patch: Mapping[str, Any], dialect: Dialect) -> dict[Any, Any]:
    """Merge a patch into a copy of a mapping, and return the copy.

    Args:
        under: the mapping, which may contain holes (placeholders for values of the chart). The patch replaces a hole
            like a scalar.
        patch: plain data.
        dialect: the rules for lists.
    """
    merged = dict(under) if isinstance(under, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and value.items() >= REPLACE.items():
            merged[key] = {field: item for field, item in value.items() if field not in REPLACE}
        elif isinstance(value, dict):
            merged[key] = merge(merged.get(key), value, dialect)
        elif isinstance(value, (list, tuple)) and REPLACE in value:
            merged[key] = [item for item in value if item != REPLACE]
        elif key in dialect.keys and isinstance(value, (list, tuple)):
            merged[key] = _merge_items(merged.get(key), value, key, dialect)
        else:
            merged[key] = value
    return merged


def _merge_items(under: Any, patches: Sequence[Mapping[str, Any]], field: str, dialect: Dialect) -> list[Any]:
    items = under if isinstance(under, (list, tuple)) else ()
    remaining = dict(enumerate(items))
    named: list[Any] = []
    mappings = [item for item in (*items, *patches) if isinstance(item, dict)]
    used_keys = [key for key in dialect.keys[field] if any(key in item for item in mappings)]
    moves = dialect.puts_patch_first and len(used_keys) <= 1
    for patch, places in zip(patches, pair(items, patches, field, dialect), strict=True):
        if removes(patch):
            for place in places:
                del remaining[place]
        elif places and not moves:
            (place,) = places
            remaining[place] = merge(remaining[place], patch, dialect)
        else:
            named.append(merge(remaining.pop(places[0]) if places else {}, patch, dialect))
    return [*named, *remaining.values()] if dialect.puts_patch_first else [*remaining.values(), *named]


def pair(
    items: Sequence[Any], patches: Sequence[Mapping[str, Any]], field: str, dialect: Dialect
) -> Sequence[Sequence[int]]:
    """Match each patch item with the list items that have the same key, and return the indexes of these list items.

    Example: with the result [[2], []], the first patch item changes `items[2]`, and the second patch item is a new item
    of the list.

    - A patch item with `$patch: delete` matches all list items with its key. The caller removes these list items.
    - Any other patch item matches at most one list item. If the patch also deletes the key, the patch item matches no
      list item, and is a new item.
    - A list item matches at most one patch item.
    - If several items have the same key, a patch item matches the first list item that is equal in a second field as
      well (`SECOND_KEY_FIELDS`). For example, two ports with the same number differ in their protocol.

    Args:
        items: the items of the list. A list item that depends on values of the chart has no key.
        patches: the items of the patch.
        field: the name of the list, such as `containers`.
        dialect: the rules of the tool, with the key fields of the list.
    """
    keys = [_key(item, dialect.keys[field]) for item in items]
    own_keys = [_key(patch, dialect.keys[field]) for patch in patches]
    removed = [patch_key for patch, patch_key in zip(patches, own_keys, strict=True) if removes(patch)]
    free = [*range(len(keys))]
    pairs: list[Sequence[int]] = []
    for patch, patch_key in zip(patches, own_keys, strict=True):
        met = [place for place in free if keys[place] == patch_key]
        if met and not removes(patch):  # items without a match skip the count, which would take quadratic time
            single = keys.count(patch_key) == own_keys.count(patch_key) == 1
            is_gone = patch_key in removed
            met = [place for place in met if not is_gone and (single or _is_alike(items[place], patch, field))][:1]
        free = [place for place in free if place not in met]
        pairs.append(met)
    return pairs


def removes(patch: Mapping[str, Any]) -> bool:
    """Return whether a patch item removes the list items with the same key."""
    return patch.get("$patch") == "delete"


def _is_alike(item: Mapping[str, Any], patch: Mapping[str, Any], field: str) -> bool:
    """Return True if two items with the same key are also equal in the second key field, such as `protocol` of a port.

    Return True as well if the list has no second key field, or if the patch item does not set this field.
    """
    if field not in SECOND_KEY_FIELDS:
        return True
    name, default = SECOND_KEY_FIELDS[field]
    return patch.get(name) in (None, item.get(name, default))


def _key(item: Any, names: Sequence[str]) -> Any:
    """Return the values of the key fields of a list item; None for an item that is not a mapping."""
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else None
