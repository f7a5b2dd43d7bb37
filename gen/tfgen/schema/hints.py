"""Describes the constraints of the schema in words, and advises users who write a job in the notation of Kubernetes.

>>> expected({"type": "integer", "minimum": 1, "maximum": 65535})
'an integer from 1 to 65535'
>>> advice_for(("spec", "roles", "worker", "resources", "nvidia.com/gpu"), 2)
'; write gpu: {count: 2}'

A table has one line per notation of Kubernetes. The advice repeats the values of the user, except possible secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import MAX_INTEGER, Path
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, is_record, resolve
from tfgen.schema.secret_text import looks_secret
from tfgen.text.yaml_text import scalar
from tfgen.words import NEAR, either, meant, nearest, path_name

# -- constraints in words ----------------------------------------------------------------------------------------------


_TYPE_NAMES = {
    "string": "text",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "null",
}
_SHORT_LIST = 12
"""Maximum number of allowed names in a message. A longer list would hide the fault."""


def expected(node: Schema) -> str:
    """Return the type or the choices of a schema node in words, such as "an integer from 1 to 10"."""
    if "enum" in node:
        return f"one of {either(choice for choice in node['enum'] if choice is not None)}"
    if node.get("x-kind") == "quantity":
        return str(node["x-pattern-says"])
    return either(
        integers(node) if json_type == "integer" else _TYPE_NAMES[json_type] for json_type in json_types(node)
    )


def json_types(node: Schema) -> list[str]:
    """Return the names of the JSON types that a schema node allows, such as "string"."""
    types = node.get("type", ["string"])
    return [types] if isinstance(types, str) else list(types)


def integers(node: Schema) -> str:
    """Return the range of a schema node for numbers in words, such as "an integer from 1 to 10"."""
    if node["maximum"] == MAX_INTEGER:
        return "an integer"
    kind = "a number" if "number" in json_types(node) else "an integer"
    return f"{kind} from {node['minimum']} to {node['maximum']}"


def choices(node: Schema) -> list[str]:
    """Return the keys in the `oneOf` of a schema node. A mapping must have exactly one of these keys."""
    return [key for choice in node["oneOf"] for key in choice["required"]]


def hint_for_key(key: str, owner: Schema, schema: Schema, path: Path = ()) -> str:
    """Return a hint such as `; did you mean "image"?` for an unknown key, and a short list of the allowed keys.

    Args:
        key: the unknown key.
        owner: the schema of the mapping that contains the key.
        schema: the schema of the document.
        path: the path of the mapping in the document.
    """
    allowed = owner["properties"] if "properties" in owner else owner["propertyNames"]["enum"]
    listed = f" (allowed: {', '.join(sorted(allowed))})" if len(allowed) <= _SHORT_LIST else ""
    name = (
        _in_our_words(key, allowed)
        or nearest(key, allowed, NEAR)
        or _path_one_level_deeper(key, owner, schema)
        or _path_in_parent(key, path, schema)
        or nearest(key, allowed)
        or _path_in_spec(key, schema)
    )
    return meant(name) + listed


# Names in Kubernetes, in TFJob or in Volcano, each with the equivalent key of a job.
_OTHER_WORDS = {
    "activeDeadlineSeconds": "deadline",
    "backoffLimit": "retries",
    "containers": "podTemplate",
    "master": "chief",
    "minMember": "minAvailable",
    "parallelism": "replicas",
    "podFailurePolicy": "restart.ignoreExitCodes",
    "queue": "gang.queue",
    "replicas": "roles.worker.replicas",
    "schedulerName": "gang.scheduler",
    "securityContext": "security",
    "tfReplicaSpecs": "roles",
    "volumeMounts": "storage",
    "volumes": "storage",
}


def _in_our_words(key: str, allowed: Iterable[str]) -> str | None:
    """Return the equivalent of a Kubernetes key in a job, such as `storage` for `volumes`; None for other keys.

    The mapping that contains the key allows only the keys in `allowed`. If the equivalent begins with a different key,
    return None as well.
    """
    ours = _OTHER_WORDS.get(key) or _OTHER_WORDS.get(key.lower(), "")
    return ours if ours.partition(".")[0] in allowed else None


def _path_in_spec(key: str, schema: Schema) -> str | None:
    """Return the path of a key that belongs to `spec`, such as `spec.labels` for `labels` in `metadata`.

    If `spec` has no such key, return None.
    """
    spec = schema["properties"].get("spec", {}).get("properties", {})
    return f"spec.{key}" if key in spec else None


def _path_one_level_deeper(key: str, owner: Schema, schema: Schema) -> str | None:
    """Return the path of a key that belongs one level deeper, such as `resources.gpu` for `gpu` next to `resources`.

    If no mapping one level deeper has such a key, return None. The argument `owner` is the schema of the mapping that
    contains the misplaced key.
    """
    for name, written in owner.get("properties", {}).items():
        if key in resolve(schema, written).get("properties", {}):
            return f"{name}.{key}"
    return None


def _path_in_parent(key: str, path: Path, schema: Schema) -> str | None:
    """Return the correct path of a key that belongs to a parent mapping, or None if no parent mapping has such a key.

    For example, return `spec.gitops.createNamespace` for the key `createNamespace` below `spec.gitops.argocd`. The
    argument `path` is the path of the mapping that contains the misplaced key.
    """
    for end in range(len(path) - 1, 0, -1):
        owner = schema_file.node(schema, path[:end])
        if owner is not None and is_record(owner) and key in owner["properties"]:
            return path_name((*path[:end], key))
    return None


# -- the notation of Kubernetes ----------------------------------------------------------------------------------------


_ANY: Final = "*"
_TOP: Final = ""

_HABITS: Final[Mapping[tuple[str, ...], str]] = {
    ("envFrom", _ANY): "write {{configMapRef: {named}}}, or {{secretRef: {named}}}",
    (
        "cleanPodPolicy",
    ): "write completion: {{release: ScaleToZero}} for Running and All, or {{release: Keep}} for None",
    ("env", _ANY, "value"): "write the value itself in its place, {{{name}: {value}}}",
    ("env", _ANY, "valueFrom"): "write the content of valueFrom in its place, {name}: {value}",
    ("gpu", "model"): "write product: {value}",
    ("gpu", "type"): "write product: {value}",
    (
        "objects",
        _ANY,
        "metadata",
        "namespace",
    ): "remove the key, and set environments.NAME.namespace, which applies to all objects",
    (_TOP, "policies"): (
        "remove the key, and evaluate the policies in CI, with the Kyverno CLI or with kubectl apply --dry-run=server: "
        "see docs/guard-rails.md"
    ),
    ("patches", _ANY, "patch"): "write merge: {{...}} for a merge patch, and json: [...] for operations of RFC 6902",
    ("patches", _ANY, "target", "group"): "a target needs only the key kind; remove the key",
    ("patches", _ANY, "target", "version"): "a target needs only the key kind; remove the key",
    ("resources", "amd.com/gpu"): "write gpu: {{count: {value}, resource: amd.com/gpu}}",
    ("resources", "ephemeral-storage"): "write requests: {{ephemeral-storage: {value}}}",
    ("resources", "nvidia.com/gpu"): "write gpu: {{count: {value}}}",
    ("resources", "gpu"): "write gpu: {{count: {value}}}",
    ("roles", "chief", "replicas"): "the chief is always a single task; remove the key",
    ("roles", "evaluator", "replicas"): "the evaluator is always a single task; remove the key",
    ("security", "allowPrivilegeEscalation"): (
        "the default security profile, restricted, already sets this field to false; remove the key"
    ),
    ("security", "capabilities"): (
        "the default security profile, restricted, already drops all capabilities; remove the key"
    ),
    ("security", "privileged"): "write profile: privileged for settings that no other profile allows",
    ("security", "runAsNonRoot"): "the default security profile, restricted, already sets this field; remove the key",
    ("security", "seccompProfile"): (
        "the security profiles restricted, the default, and baseline already set this field; remove the key"
    ),
    **{
        (around, *name, field): f"write podTemplate: {{{{spec: {{{{{field}: {{value}}}}}}}}}}"
        for around, *name in (("spec",), ("roles", _ANY))
        for field in ("hostIPC", "hostNetwork", "hostPID")
    },
    ("spec", "environments", _ANY, "resumeFrom"): "only a job file can set this key of an environment",
    ("spec", "environments", _ANY, "run"): "only a job file can set this key of an environment",
    ("spec", "environments", _ANY, "spec"): "write the keys of spec directly in the environment",
    (
        "spec",
        "resumeFrom",
    ): "only a job file can set this key, in spec or in an environment; move the key",
    ("spec", "roles"): "only a job file can list roles; set environments.NAME.roles for the defaults of an environment",
    ("spec", "runPolicy"): (
        "write retries for backoffLimit, deadline for activeDeadlineSeconds, and completion.release for cleanPodPolicy"
    ),
    ("spec", "run"): "only a job file can set this key, in spec or in an environment; move the key",
    ("spec", "volumes"): "write storage: {value}, each volume with its mountPath",
    ("storage", _ANY, "claim", "claimName"): "write name: {value}",
    (
        "storage",
        _ANY,
        "path",
    ): "write mountPath: {value} for the path in the pod, and subPath for a folder of the volume",
    ("storage", _ANY, "persistentVolumeClaim"): "write claim: {named}",
    ("storage", _ANY, "pvc"): "write claim: {named}",
    ("successPolicy",): "write completion: {{by: AllWorkers}} for AllWorkers, or {{by: Worker0}} for the default",
    (
        "volumeMounts",
    ): 'set mountPath in the volume of spec.storage, and list the roles that mount the volume under "for"',
}
"""The advice for a key, by the last keys in the path of the key. `_TOP` begins the path of a key at the top level.

The advice has placeholders: `name` is the parent key, and `value` is the value in the notation of a job. `named` is the
same value, but a text such as `data` becomes `{name: data}`.
"""

LONG_FORMS: Final[Mapping[str, str]] = {
    "RWO": "ReadWriteOnce",
    "ROX": "ReadOnlyMany",
    "RWX": "ReadWriteMany",
    "RWOP": "ReadWriteOncePod",
}
"""The access mode of a volume, by the short form of the access mode that kubectl prints."""

_IMPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "TFJob": ("kubeflow.org",),
    "TfJob": ("kubeflow.org",),
    "TrainJob": ("trainer.kubeflow.org",),
    "JobSet": ("jobset.x-k8s.io",),
    "Job": ("batch.volcano.sh", "batch"),
    **dict.fromkeys(("Pod", "ReplicationController"), ("",)),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet"), ("apps",)),
}
"""The API groups of each kind that `tfgen import` reads."""

_JOB_KEYS: Final = {"persistentVolumeClaim": "claim", "claimName": "name"}
_WRAPPERS: Final = ("value", "valueFrom")
"""Keys of Kubernetes that contain only another value, such as `valueFrom`."""

_LONGEST: Final = 80
_PLAIN: Final = re.compile(r"[\w./:@+-]+", re.ASCII)


def advice_for(path: Path, value: Any) -> str:
    """Return the advice for a value in the notation of Kubernetes, such as `; write gpu: {count: 2}`; else empty.

    Args:
        path: the path of an unknown key of a job, or of a list where a job has a mapping.
        value: the value at the path.
    """
    for end, advice in _HABITS.items():
        if _ends(path, end):
            around = "".join(map(str, path[-2:-1]))
            named = {"name": value} if isinstance(value, str) else value
            # The name of a variable shows whether its value is a secret. Other values have no such name.
            words = _job_notation(value, around if end[-1] in _WRAPPERS else "")
            return f"; {advice.format(name=_scalar(around), value=words, named=_job_notation(named))}"
    if isinstance(value, list) and _first_by_name(value):
        return f"; write the items by name: {_job_notation(value)}"
    return ""


def can_import(kind: str, version: Any) -> bool:
    """Return True if `tfgen import` reads objects of a kind with the API version `version`."""
    return isinstance(version, str) and version.rpartition("/")[0] in _IMPORTED.get(kind, ())


def one_line(value: Any) -> str:
    """Return a value as YAML on one line without possible secrets. A long line is shortened."""
    text = flow(_hidden("", value))
    return text if len(text) <= _LONGEST else "[{...}]" if isinstance(value, list) else "{...}"


def as_items(value: Any, key: str) -> str:
    """Convert a value to a list in the notation of Kubernetes, as YAML on one line, for a message.

    `key` is the field with the name of an item; empty for a list of texts. If the value is a mapping whose keys are
    names, the list shows only the first item.

        >>> as_items({"scratch": {"emptyDir": {}}}, "name"), as_items({"A": "b", "C": "d"}, "name"), as_items("x", "")
        ('[{name: scratch, emptyDir: {}}]', '[{name: A, value: b}, ...]', '[x]')

    The result is empty if the conversion is ambiguous, or if the line is too long.
    """
    items: list[Any]
    if isinstance(value, str):
        items = [{key: value} if key else value]
    elif not isinstance(value, Mapping) or not key or not value:
        return ""
    elif key in value:
        items = [_hidden(value.get("name"), value)]
    else:
        name, first = next(iter(value.items()))
        remaining = (
            first if isinstance(first, Mapping) else {"value": first if isinstance(first, str) else json.dumps(first)}
        )
        items = [_hidden(name, {key: name, **remaining})]
    text = flow(items)
    if isinstance(value, Mapping) and key not in value and len(value) > 1:
        text = f"{text[:-1]}, ...]"
    return text if len(text) <= _LONGEST else ""


def _hidden(name: Any, value: Any) -> Any:
    """Return a copy of a value in which "..." replaces each possible secret.

    The value has the notation of Kubernetes, such as a list of environment variables. The argument `name` is the key or
    the environment variable that has the value. A text with a name such as PASSWORD is a possible secret.
    """
    if isinstance(value, Mapping):
        return {key: _hidden(name if key == "value" else key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(name, item) for item in value]
    return "..." if isinstance(value, str) and looks_secret(str(name), value) else value


def _ends(path: Path, end: Sequence[str]) -> bool:
    tail = (_TOP, *path)[-len(end) :]
    return len(tail) == len(end) and all(want in (_ANY, step) for want, step in zip(end, tail, strict=True))


def _job_notation(value: Any, name: str = "") -> str:
    """Return a value in the notation of a job, as YAML on one line.

    A list of items with names becomes a mapping that shows only the first item, such as `{DATA_DIR: /data, ...}`.
    """
    text = flow(_to_job_notation(name, value))
    if isinstance(value, list) and len(value) > 1 and _first_by_name(value):
        text = f"{text[:-1]}, ...}}"
    if not isinstance(value, (Mapping, list)):
        return text if len(text) <= _LONGEST else "..."
    return text if value and len(text) <= _LONGEST else "{...}"


def _to_job_notation(name: str, value: Any) -> Any:
    if isinstance(value, list) and (named := _first_by_name(value)):
        key, fields = named
        return {key: _to_job_notation(key, fields)}
    if isinstance(value, Mapping):
        if len(value) == 1 and (wrapper := next(iter(value))) in _WRAPPERS:
            return _to_job_notation(name, value[wrapper])
        return {_JOB_KEYS.get(key, key): _to_job_notation(key, item) for key, item in value.items()}
    return "..." if isinstance(value, str) and looks_secret(name, value) else value


def _first_by_name(items: Sequence[Any]) -> tuple[str, Any] | None:
    """Return the name of the first item of a list, and the other fields of the item; None without a name.

    Example: ``("SEED", {"value": "1"})`` for the list ``[{"name": "SEED", "value": "1"}]``.
    """
    first = items[0] if items else None
    if not isinstance(first, Mapping) or not isinstance(first.get("name"), str):
        return None
    return first["name"], {key: item for key, item in first.items() if key != "name"}


def flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_scalar(key)}: {flow(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """Return a scalar as YAML that is valid inside braces."""
    if isinstance(value, str) and value != "..." and not (_PLAIN.fullmatch(value) and scalar(value) == value):
        return json.dumps(value, ensure_ascii=False)
    return scalar(value) if value != "..." else value
