"""Describes the constraints of the schema in words, and advises users who write a job in the notation of Kubernetes.

    >>> expected({"type": "integer", "minimum": 1, "maximum": 65535})
    'an integer from 1 to 65535'
    >>> advice_for(("spec", "roles", "worker", "resources", "nvidia.com/gpu"), 2)
    '; write gpu: {count: 2}'

A table has one line per notation of Kubernetes. The advice repeats the values of the user, except possible secrets:
credentials, and values whose name marks a secret by its last word (`HUB_TOKEN`, not `TOKEN_LIMIT`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.data_path import MAX_INTEGER, Path
from tfgen.fix import NO_HINT, REMOVED, Assignment, Fix, Hint, Rename, assignment, meant, removal
from tfgen.schema import file as schema_file
from tfgen.schema.file import Schema, is_record, resolve
from tfgen.text.parse import parse
from tfgen.text.yaml_text import scalar
from tfgen.words import NEAR, either, has_credential, nearest, path_name

_SECRET_NAME: Final = re.compile(
    r"(^|[-_.])(pass(word|wd|phrase)?|pwd|secret|token|credentials?"
    r"|(access|account|api|auth|encryption|private|secret|signing|storage)[-_.]?key)$",
    re.IGNORECASE,
)

# Paths, flags, references and placeholders (a tokenizer's <eos>) contain no secret.
_HARMLESS: Final = re.compile(r"|true|false|/.*|<.*>|\[.*\]|.*\$\(.*", re.IGNORECASE | re.DOTALL)

# A flag with a value, or an assignment, alone or in a shell command: --password=hunter2, db.password='hunter2'.
_FLAG: Final = re.compile(
    r"""(?<![^\s"';&|(])(?:--?(?P<flag>[A-Za-z][\w.-]*)(?:=|[ \t]+(?!-))|(?P<variable>[A-Za-z][\w.-]*)=)["']?"""
    r"""(?P<value>[^\s"']*)"""
)
_FLAG_NAME: Final = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")
_SHELL_VARIABLE: Final = re.compile(r"\$[{(]?\w")


def looks_secret(name: str, value: str) -> bool:
    """Test whether a value contains a credential, or has a name that marks a secret."""
    return has_credential(value) or names_secret(name, value)


def names_secret(name: str, value: str) -> bool:
    """Test whether a name marks a secret, such as `HUB_TOKEN`, and the value could be a secret.

    A path or a placeholder, for example, is not a secret.
    """
    return _SECRET_NAME.search(name) is not None and not _HARMLESS.fullmatch(value)


def find_secret_arguments(arguments: Sequence[Any]) -> Iterator[int]:
    """Yield the index of each argument that contains the value of a flag such as --password."""
    flag = ""
    for index, text in enumerate(arguments):
        if isinstance(text, str):
            flags = [(flag, text)] if flag and not text.startswith("-") else []
            flags += ((match["flag"] or match["variable"], match["value"]) for match in _FLAG.finditer(text))
            if any(names_secret(name, value) and not _SHELL_VARIABLE.match(value) for name, value in flags):
                yield index
        alone = _FLAG_NAME.fullmatch(text) if isinstance(text, str) else None
        flag = alone["name"] if alone else ""


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


def hint_for_key(key: str, owner: Schema, schema: Schema, path: Path = (), value: Any = None) -> Hint:
    """Return a hint such as `; did you mean "image"?` for an unknown key, and a short list of the allowed keys.

    Args:
        key: the unknown key.
        owner: the schema of the mapping that contains the key.
        schema: the schema of the document.
        path: the path of the mapping in the document.
        value: the value of the key.
    """
    allowed = owner["properties"] if "properties" in owner else owner["propertyNames"]["enum"]
    listed = f" (allowed: {', '.join(sorted(allowed))})" if len(allowed) <= _SHORT_LIST else ""
    ours = _OTHER_WORDS.get(key) or _OTHER_WORDS.get(key.lower(), "")
    name = ours if ours.partition(".")[0] in allowed else nearest(key, allowed, NEAR)
    if name := name or _path_one_level_deeper(key, owner, schema):
        target: Path = (*path, *name.split("."))
    elif target := _path_in_parent(key, path, schema):
        name = path_name(target)
    elif name := nearest(key, allowed):
        target = (*path, name)
    elif key in schema["properties"].get("spec", {}).get("properties", {}):  # such as `labels` in `metadata`
        name, target = f"spec.{key}", ("spec", key)
    if not target:
        return Hint(listed)
    written = (*path, key)
    if target[:-1] == path:
        return meant(name, Rename(written, str(target[-1])), written=key, end=listed)
    return meant(name, Assignment(target, value), Assignment(written, REMOVED), written=key, end=listed)


CHART_WORDS: Final[Mapping[str, str]] = {
    "commonAnnotations": "annotations",
    "commonLabels": "labels",
    "extraEnv": "env",
    "extraEnvVars": "env",
    "extraVolumeMounts": "storage",
    "extraVolumes": "storage",
    "persistence": "storage",
    "podAnnotations": "annotations",
    "podLabels": "labels",
    "podSecurityContext": "security",
    "replicaCount": "roles.worker.replicas",
    "replicas": "roles.worker.replicas",
    "resources": "roles.worker.resources",
    "securityContext": "security",
    "serviceAccount": "serviceAccountName",
    "volumeMounts": "storage",
    "volumes": "storage",
}
"""Names of values in other Helm charts, each with the equivalent key of a job."""

# Names in Kubernetes, in TFJob, in Volcano or in a chart, each with the equivalent key of a job.
_OTHER_WORDS = {
    **CHART_WORDS,
    "activeDeadlineSeconds": "deadline",
    "backoffLimit": "retries",
    "containers": "podTemplate",
    "master": "chief",
    "minMember": "minAvailable",
    "parallelism": "replicas",
    "podFailurePolicy": "restart.ignoreExitCodes",
    "queue": "gang.queue",
    "schedulerName": "gang.scheduler",
    "tfReplicaSpecs": "roles",
}


def _path_one_level_deeper(key: str, owner: Schema, schema: Schema) -> str | None:
    """Return the path of a key that belongs one level deeper, such as `resources.gpu` for `gpu` next to `resources`.

    If no mapping one level deeper has such a key, return None. The argument `owner` is the schema of the mapping that
    contains the misplaced key.
    """
    for name, written in owner.get("properties", {}).items():
        if key in resolve(schema, written).get("properties", {}):
            return f"{name}.{key}"
    return None


def _path_in_parent(key: str, path: Path, schema: Schema) -> Path:
    """Return the correct path of a key that belongs to a parent mapping; empty if no parent mapping has such a key.

    For example, return the path of `spec.gitops.createNamespace` for the key `createNamespace` below
    `spec.gitops.argocd`. The argument `path` is the path of the mapping that contains the misplaced key.
    """
    for end in range(len(path) - 1, 0, -1):
        owner = schema_file.node(schema, path[:end])
        if owner is not None and is_record(owner) and key in owner["properties"]:
            return (*path[:end], key)
    return ()


# -- the notation of Kubernetes ----------------------------------------------------------------------------------------


class _Removed(NamedTuple):
    """The advice to remove a key. `why` is the reason."""

    why: str


class _Written(NamedTuple):
    """The advice to write other YAML in place of a key and its value.

    Attributes:
        texts: an entry or a value as YAML, and the alternatives.
        lead: the words before the first text.
        tail: the words after the last text. They may name an alternative.
        is_of_parent: whether the text replaces the mapping that contains the key.
    """

    texts: tuple[str, ...]
    lead: str = ""
    tail: str = ""
    is_of_parent: bool = False


_HABITS: Final[Mapping[str, str | _Removed | _Written]] = {
    "envFrom *": _Written(("{{configMapRef: {named}}}", "{{secretRef: {named}}}")),
    "cleanPodPolicy": _Written(
        ("completion: {{release: ScaleToZero}}",), tail=" for Running and All, or {{release: Keep}} for None"
    ),
    "env * value": _Written(("{{{name}: {value}}}",), "the value itself in its place, ", is_of_parent=True),
    "env * valueFrom": _Written(("{name}: {value}",), "the content of valueFrom in its place, ", is_of_parent=True),
    "gpu model": _Written(("product: {value}",)),
    "gpu type": _Written(("product: {value}",)),
    "objects * metadata namespace": "remove the key, and set environments.NAME.namespace, which applies to all objects",
    " policies": (
        "remove the key, and evaluate the policies in CI, with the Kyverno CLI or with kubectl apply --dry-run=server: "
        "see docs/guard-rails.md"
    ),
    "patches * patch": "write merge: {...} for a merge patch, and json: [...] for operations of RFC 6902",
    "patches * target group": _Removed("a target needs only the key kind"),
    "patches * target version": _Removed("a target needs only the key kind"),
    "resources amd.com/gpu": _Written(("gpu: {{count: {value}, resource: amd.com/gpu}}",)),
    "resources ephemeral-storage": _Written(("requests: {{ephemeral-storage: {value}}}",)),
    "resources nvidia.com/gpu": _Written(("gpu: {{count: {value}}}",)),
    "resources gpu": _Written(("gpu: {{count: {value}}}",)),
    "roles chief replicas": _Removed("the chief is always a single task"),
    "roles evaluator replicas": _Removed("the evaluator is always a single task"),
    "security allowPrivilegeEscalation": _Removed(
        "the default security profile, restricted, already sets this field to false"
    ),
    "security capabilities": _Removed("the default security profile, restricted, already drops all capabilities"),
    "security privileged": _Written(("profile: privileged",), tail=" for settings that no other profile allows"),
    "security runAsNonRoot": _Removed("the default security profile, restricted, already sets this field"),
    "security seccompProfile": _Removed(
        "the security profiles restricted, the default, and baseline already set this field"
    ),
    **{
        f"{owner} {field}": _Written((f"podTemplate: {{{{spec: {{{{{field}: {{value}}}}}}}}}}",))
        for owner in ("spec", "roles *")
        for field in ("hostIPC", "hostNetwork", "hostPID")
    },
    "spec environments * resumeFrom": "only a job file can set this key of an environment",
    "spec environments * run": "only a job file can set this key of an environment",
    "spec environments * spec": "write the keys of spec directly in the environment",
    "spec resumeFrom": "only a job file can set this key, in spec or in an environment; move the key",
    "spec roles": "only a job file can list roles; set environments.NAME.roles for the defaults of an environment",
    "spec runPolicy": (
        "write retries for backoffLimit, deadline for activeDeadlineSeconds, and completion.release for cleanPodPolicy"
    ),
    "spec run": "only a job file can set this key, in spec or in an environment; move the key",
    "spec volumes": _Written(("storage: {value}",), tail=", each volume with its mountPath"),
    "storage * claim claimName": _Written(("name: {value}",)),
    "storage * path": _Written(
        ("mountPath: {value}",), tail=" for the path in the pod, and subPath for a folder of the volume"
    ),
    "storage * persistentVolumeClaim": _Written(("claim: {named}",)),
    "storage * pvc": _Written(("claim: {named}",)),
    "successPolicy": _Written(
        ("completion: {{by: AllWorkers}}",), tail=" for AllWorkers, or {{by: Worker0}} for the default"
    ),
    "volumeMounts": 'set mountPath in the volume of spec.storage, and list the roles that mount the volume under "for"',
}
"""The advice for a key, by the last keys in the path of the key. ``*`` means any key.

A path that begins with a blank begins at the top level of the document.

The texts of `_Written` have placeholders: `name` is the parent key, and `value` is the value in the notation of a job.
`named` is the same value, but a text such as `data` becomes `{name: data}`.
"""

LONG_FORMS: Final[Mapping[str, str]] = {
    "RWO": "ReadWriteOnce",
    "ROX": "ReadOnlyMany",
    "RWX": "ReadWriteMany",
    "RWOP": "ReadWriteOncePod",
}
"""The access mode of a volume, by the short form of the access mode that kubectl prints."""

_IMPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "TFJob": ("kubeflow.org", "training.kubedl.io"),
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


def advice_for(path: Path, value: Any) -> Hint:
    """Return the advice for a value in the notation of Kubernetes, such as `; write gpu: {count: 2}`; else empty.

    Args:
        path: the path of an unknown key of a job, or of a list where a job has a mapping.
        value: the value at the path.
    """
    for end, advice in _HABITS.items():
        steps = end.split(" ")
        tail = ("", *path)[-len(steps) :]
        if len(tail) < len(steps) or not all(want in ("*", step) for want, step in zip(steps, tail, strict=True)):
            continue
        if isinstance(advice, _Removed):
            fix = removal(path)
            return Hint(f"; {advice.why}; {fix.words}", (fix,))
        if isinstance(advice, str):
            return Hint(f"; {advice}")
        if value is None:
            break
        around = "".join(map(str, path[-2:-1]))
        named = {"name": value} if isinstance(value, str) else value
        # The name of a variable shows whether its value is a secret. Other values have no such name.
        words = _job_notation(value, around if steps[-1] in _WRAPPERS else "")
        fill = {"name": _scalar(around), "value": words, "named": _job_notation(named)}
        texts = [text.format(**fill) for text in advice.texts]
        fixes = (fix_ for text in texts for fix_ in _written(path, text, advice))
        return Hint(f"; write {advice.lead}{', or '.join(texts)}{advice.tail.format(**fill)}", tuple(fixes))
    if isinstance(value, list) and _first_by_name(value):
        return write(path, _job_notation(value), "the items by name: ")
    return NO_HINT


def _written(path: Path, text: str, advice: _Written) -> Iterator[Fix]:
    """Yield the fix that writes `text` in place of the key at a path."""
    if "..." in text:
        return
    data = parse(text, "").documents[0].data
    words, is_choice = f"write {text}", bool(advice.tail)
    if advice.is_of_parent:
        yield assignment(path[:-1], next(iter(data.values())), words)
    elif text.startswith("{"):
        yield assignment(path, data, words)
    else:
        ((key, value),) = data.items()
        target = (*path[:-1], key)
        rename = (Rename(path, key),) if target != path else ()
        yield Fix(words, (*rename, Assignment(target, value)), is_choice)


def write(path: Path, text: str, lead: str = "", end: str = "") -> Hint:
    """Return the hint to write another value at a path. `text` is the value as YAML; "..." stands for an omission."""
    words = f"write {lead}{text}"
    fixes = () if "..." in text else (assignment(path, parse(f"- {text}", "").documents[0].data[0], words),)
    return Hint(f"; {words}{end}", fixes)


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
