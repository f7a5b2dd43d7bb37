"""Patches of objects: merged by the rules of kubectl, of kustomize, or of a JSON merge patch, and JSON patches.

The module also knows the fields in which kustomize replaces the names of other objects.

    >>> merge({"spec": {"a": 1, "b": 2}}, {"spec": {"b": None}}, KUBECTL)
    {'spec': {'a': 1}}

Mappings are merged, and null removes a key. The `Dialect` contains the rules of the tool for lists: which lists are
merged, and in which order. Any other list is replaced. A patch item with ``$patch: delete`` removes the list item with
the same key. If a list of the patch contains ``$patch: replace``, the other items of the patch's list replace the whole
list of the object. A patch mapping with ``$patch: replace`` replaces the whole mapping of the object.
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md

The function `pair` matches the items of two lists, for this module and for `graph.patch_edits`, which merges patches
into objects with holes (placeholders for values of the chart). `pair` differs from kubectl in one case: kubectl merges
two ports that have the same number and different protocols (https://github.com/kubernetes/kubernetes/issues/39188).

Three other modules merge by other rules. `tunables.merge` merges Helm values, and keeps a null for a key that the
chart's values do not have. `job.sources` merges the layers of a job: if the schema allows only one of several keys,
the key in the job replaces the other keys in the layers. `importers.job_set` keeps the position of each merged value
in the file, and reports each overridden value.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen.data_path import Path
from tfgen.kubernetes.object import group
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


# -- JSON patches ------------------------------------------------------------------------------------------------------
#
# JSON patches: ordered lists of operations that change one object into another object.
#
# A JSON patch can change a single item of a list, but a merge patch must contain the whole list. An operation refers to
# an item by its index. So tfgen adds a `test` operation before each change. The `test` operation compares the name of
# the item. If the items of the list have changed in the meantime, the patch fails and changes nothing.
# https://www.rfc-editor.org/rfc/rfc6902


Operation: TypeAlias = dict[str, Any]
"""An operation of a JSON patch: ``op``, ``path`` and, except for ``remove``, ``value``."""


def json_patch(before: Any, after: Any) -> list[Operation]:
    """Return the operations that turn `before` into `after`.

    >>> json_patch({"args": ["a"], "old": 1}, {"args": ["b"], "a/b": 2})  # doctest: +NORMALIZE_WHITESPACE
    [{'op': 'replace', 'path': '/args', 'value': ['b']}, {'op': 'add', 'path': '/a~1b', 'value': 2},
     {'op': 'remove', 'path': '/old'}]
    """
    return list(_operations(before, after, ""))


def changes_items(before: Any, after: Any) -> bool:
    """Return True if a list has changed, but some of its named items are in both versions of the list.

    A merge patch would have to repeat these items.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return any(changes_items(before[key], after[key]) for key in before if key in after)
    return before != after and bool(_kept_names(before, after))


def patched(data: Any, operations: Sequence[Operation]) -> Any:
    """Apply the operations of `json_patch` to a copy of `data`, and return the copy.

    Raises:
        ValueError: a `test` operation fails, or an operation has a type that `json_patch` does not return.
        LookupError: the path does not exist in the data.
    """
    data = copy.deepcopy(data)
    for operation in operations:
        _apply(data, operation["op"], operation["path"].split("/")[1:], operation.get("value"))
    return data


def _operations(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*after, *(key for key in before if key not in after)]:
            child = f"{path}/{_escaped(key)}"
            if key not in after:
                yield {"op": "remove", "path": child}
            elif key not in before:
                yield {"op": "add", "path": child, "value": after[key]}
            elif before[key] != after[key]:
                yield from _operations(before[key], after[key], child)
    elif kept_names := _kept_names(before, after):
        yield from _item_operations(before, after, kept_names, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _item_operations(
    before: Sequence[Any], after: Sequence[Any], kept_names: Sequence[str], path: str
) -> Iterator[Operation]:
    """Yield the operations that turn the list `before` into the list `after`.

    The first operations remove items, from the end of the list. The other operations add and change items, in the order
    of `after`.

    Args:
        before: the items of the old list.
        after: the items of the new list.
        kept_names: the names of the items that are in both lists.
        path: the JSON pointer of the list, such as `/spec/containers`.
    """
    for place, item in reversed([*enumerate(before)]):
        if item["name"] not in kept_names:
            yield _test(path, place, item)
            yield {"op": "remove", "path": f"{path}/{place}"}
    old = {item["name"]: item for item in before}
    for place, item in enumerate(after):
        if item["name"] not in kept_names:
            yield {"op": "add", "path": f"{path}/{place}", "value": item}
        elif old[item["name"]] != item:
            yield _test(path, place, item)
            yield from _operations(old[item["name"]], item, f"{path}/{place}")


def _test(path: str, place: int, item: Any) -> Operation:
    return {"op": "test", "path": f"{path}/{place}/name", "value": item["name"]}


def _kept_names(before: Any, after: Any) -> Sequence[str]:
    """Return the names that occur in both lists; empty if an item has no name, or if the order of the names differs."""
    old, new = _names(before), _names(after)
    names = [name for name in old if name in new]
    return names if names == [name for name in new if name in old] else ()


def _names(items: Any) -> Sequence[str]:
    """Return the names of the items of a list; empty if a name is missing or not unique."""
    if not isinstance(items, list | tuple):
        return ()
    names = [item.get("name") for item in items if isinstance(item, dict)]
    words = [name for name in names if isinstance(name, str)]
    return words if len(items) == len(words) == len({*words}) else ()


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _apply(data: Any, name: str, path: Sequence[str], value: Any) -> None:
    """Apply the operation `name`, such as `add`, to data in place."""
    *parents, last = path
    for step in parents:
        data = data[_step(data, step)]
    key = _step(data, last)
    match name:
        case "test" if data[key] == value:
            pass
        case "remove":
            del data[key]
        case "add" if isinstance(data, list):
            data.insert(key, copy.deepcopy(value))
        case "add" | "replace":
            data[key] = copy.deepcopy(value)
        case _:
            raise ValueError(f"{name} of {value!r} at /{'/'.join(path)}")


def _step(data: Any, step: str) -> Any:
    return int(step) if isinstance(data, list) else step.replace("~1", "/").replace("~0", "~")


# -- the references that kustomize reads -------------------------------------------------------------------------------
#
# The fields that kustomize reads as names of other objects, and the values of such fields that make kustomize fail.
#
# kustomize 5 reads these fields in each object of a kind, mostly without regard to the API group. Each value on the
# path to a field must be a mapping, or a list of mappings. The table `_FIELDS` has the fields of
# https://github.com/kubernetes-sigs/kustomize/blob/master/api/internal/konfig/builtinpluginconsts/namereference.go and
# of namespace.go in the same folder.


_CONTAINER: Final = (
    "env/valueFrom/configMapKeyRef/name",
    "env/valueFrom/secretKeyRef/name",
    "envFrom/configMapRef/name",
    "envFrom/secretRef/name",
)
_CONFIG_NAMES: Final = (
    *(f"{containers}/{field}" for containers in ("containers", "initContainers") for field in _CONTAINER),
    "imagePullSecrets/name",
    "volumes/configMap/name",
    "volumes/projected/sources/configMap/name",
    "volumes/projected/sources/secret/name",
    "volumes/secret/secretName",
)
"""The fields of a PodSpec that contain the name of a ConfigMap or a Secret."""

_REMAINING_NAMES: Final = ("priorityClassName", "serviceAccountName", "volumes/persistentVolumeClaim/claimName")
"""The fields of a PodSpec that contain the name of an object of another kind."""

_PODS: Final = {
    "CronJob": ("spec/jobTemplate/spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "DaemonSet": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Deployment": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Job": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "Pod": ("spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
    "PodTemplate": ("template/spec", _CONFIG_NAMES),
    "ReplicaSet": ("spec/template/spec", _CONFIG_NAMES),
    "ReplicationController": ("spec/template/spec", _REMAINING_NAMES),
    "StatefulSet": ("spec/template/spec", (*_CONFIG_NAMES, *_REMAINING_NAMES)),
}
"""For each kind, the path of the PodSpec in an object, and the fields of the PodSpec with names of other objects."""

_FIELDS: Final[Mapping[tuple[str, str], Sequence[str]]] = {
    **{("", kind): tuple(f"{pod}/{field}" for field in fields) for kind, (pod, fields) in _PODS.items()},
    ("", "ClusterRole"): ("rules/resourceNames",),
    ("", "HorizontalPodAutoscaler"): ("spec/scaleTargetRef/name",),
    ("", "Ingress"): (
        "spec/backend/serviceName",
        "spec/defaultBackend/service/name",
        "spec/ingressClassName",
        "spec/rules/http/paths/backend/service/name",
        "spec/rules/http/paths/backend/serviceName",
        "spec/tls/secretName",
    ),
    ("", "Node"): ("spec/configSource/configMap",),
    ("", "PersistentVolume"): ("spec/azureFile/secretName", "spec/storageClassName"),
    ("", "PersistentVolumeClaim"): ("spec/storageClassName", "spec/volumeName"),
    ("", "Role"): ("rules/resourceNames",),
    ("", "ServiceAccount"): ("imagePullSecrets/name",),
    ("", "StorageClass"): tuple(
        f"parameters/{name}" for name in ("adminSecretName", "secretName", "secretRef", "userSecretName")
    ),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): ("webhooks/clientConfig/service",),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): ("spec/policyName",),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): ("webhooks/clientConfig/service",),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("spec/conversion/webhook/clientConfig/service/namespace",),
    ("apiregistration.k8s.io", "APIService"): ("spec/service/name",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef/name", "subjects"),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef/name", "subjects"),
    ("serving.knative.dev", "Service"): ("spec/template/spec/containers/env/valueFrom/secretKeyRef/name",),
}
"""The fields with names of other objects, by the API group and the kind. An empty group means all API groups."""

_VOLUME_CLAIMS: Final = "spec/volumeClaimTemplates/spec/storageClassName"
_BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")
"""The kinds in which kustomize sets the namespace of each item of `subjects`."""


class Unreadable(NamedTuple):
    """A value that makes kustomize fail.

    Attributes:
        path: the path of the value in the object.
        value: the value.
        expected: a description of the values that kustomize accepts, such as `a mapping or a list`.
    """

    path: Path
    value: Any
    expected: str


def unreadable(item: Mapping[str, Any]) -> Iterator[Unreadable]:
    """Yield the values of an object that make kustomize fail, without duplicates.

    >>> next(unreadable({"apiVersion": "example.com/v1", "kind": "CronJob", "spec": "text"}))
    Unreadable(path=('spec',), value='text', expected='a mapping or a list')
    """
    kind = item["kind"]
    fields = (*_FIELDS.get(("", kind), ()), *_FIELDS.get((group(item), kind), ()))
    if kind == "StatefulSet":
        fields = (*fields, _VOLUME_CLAIMS, *(["spec/serviceName"] if group(item) == "apps" else []))
    paths: set[Path] = set()
    for field in fields:
        for value in _unreadable_on_path((), item, field.split("/")):
            if value.path not in paths:
                paths.add(value.path)
                yield value
    if kind in _BINDINGS and (subjects := item.get("subjects")) is not None:
        values = [Unreadable(("subjects",), subjects, "a list")]
        if isinstance(subjects, list):
            values = [
                Unreadable(("subjects", index), subject, "a mapping")
                for index, subject in enumerate(subjects)
                if not isinstance(subject, Mapping)
            ]
        yield from (value for value in values if value.path not in paths)


def _unreadable_on_path(path: Path, value: Any, steps: Sequence[str]) -> Iterator[Unreadable]:
    if value is None:
        return
    if not steps:
        yield from _unreadable_names(path, value)
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _unreadable_on_path((*path, index), element, steps)
    elif isinstance(value, Mapping):
        yield from _unreadable_on_path((*path, steps[0]), value.get(steps[0]), steps[1:])
    else:
        yield Unreadable(path, value, "a mapping or a list")


def _unreadable_names(path: Path, value: Any) -> Iterator[Unreadable]:
    """Yield the values of a field that kustomize cannot read as the name of an object.

    kustomize cannot read a mapping without the key `name`. If the field is a list of names, kustomize also cannot read
    an item that is a list.

    Args:
        path: the path of the field.
        value: the value of the field.
    """
    items = [((*path, index), element) for index, element in enumerate(value)] if isinstance(value, list) else []
    for place, element in items or [(path, value)]:
        if isinstance(element, list) and items:
            yield Unreadable(place, element, "a name")
        elif isinstance(element, Mapping) and "name" not in element:
            yield Unreadable(place, element, "a name, or a mapping with a name")
