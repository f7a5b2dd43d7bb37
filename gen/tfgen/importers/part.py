"""Foreign object as a tree of parts, without the fields of the API server. Each part is a value with its position.

For example, line 6 of a file is `  replicas: 2`. Then `document_part(document).get("spec", "replicas")` is a part with
the value 2 and the position (6, 13). The position of the part's key is (6, 3).

A reader may move parts, for example to convert an old version of the format to a later version. Each part keeps its
position and its path in the user's file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.errors import Position, Problem
from tfgen.kubernetes import keys
from tfgen.record import Record
from tfgen.text.document import Document, Entry
from tfgen.text.parse import parse
from tfgen.words import path_name

_LONGEST_NAME: Final = 63
"""Maximum number of characters of an object's name in a message. Kubernetes allows 63 for most names."""


class PartId(NamedTuple):
    """The identity of a part: two parts of the user's files have different places, even with the same YAML alias."""

    file: str
    key: Position
    path: Path
    is_scalar: bool


class Part(Record):
    """Value in a foreign object, with its path and position.

    Attributes:
        path: the path of the value in the object in the user's file.
        key: the position of the key to which the value belongs. For an item of a list, the position of the item.
        position: the position of the value.
        text: the text of a scalar in the file; None for a mapping or a list.
        value: a scalar, a mapping of parts by key, or a list of parts.
    """

    file: str
    path: Path
    key: Position
    position: Position
    text: str | None
    value: Any

    @property
    def place(self) -> PartId:
        """The identity of the part."""
        return PartId(self.file, self.key, self.path, not isinstance(self.value, (Mapping, list)))

    @property
    def name(self) -> str:
        """The path of the part for messages. For a whole object, the kind and the name of the object."""
        is_object = not self.path or self.path[-2:-1] == ("items",)
        kind, name = (self.get("kind"), self.get("metadata", "name")) if is_object else (None, None)
        if kind is None:
            return path_name(self.path)
        return " ".join(part.as_text[:_LONGEST_NAME] for part in (kind, name) if part and part.as_text) or path_name(())

    @property
    def data(self) -> Any:
        """The value as plain Python data. Mappings omit the keys whose value is null."""
        if isinstance(self.value, Mapping):
            return {key: part.data for key, part in self.value.items() if part.value is not None}
        if isinstance(self.value, list):
            return [part.data for part in self.value]
        return self.value

    @property
    def as_text(self) -> str:
        """The text of a scalar as in the file, for example `1.10` for the number 1.1; empty for null."""
        if isinstance(self.value, str):
            return self.value
        return "" if self.value is None else self.text or ""

    def get(self, *keys: str) -> Part | None:
        """Return the part at the path `keys`, or None if a key is missing. As in Kubernetes, null counts as missing."""
        part = self
        for key in keys:
            child = part.value.get(key) if isinstance(part.value, Mapping) else None
            if child is None or child.value is None:
                return None
            part = child
        return part

    def text_at(self, *keys: str) -> str:
        """Return the text of the scalar at the path `keys`; empty if a key is missing."""
        part = self.get(*keys)
        return part.as_text if part else ""

    def texts_at(self, *keys: str) -> list[str]:
        """Return the texts of the items in the list at the path `keys`."""
        return [part.as_text for part in self.items(*keys)]

    def entries(self, *keys: str) -> Iterator[tuple[str, Part]]:
        """Yield (key, part) for each entry of the mapping at the path `keys`. Skip null values."""
        parent = self.get(*keys)
        if parent is not None and isinstance(parent.value, Mapping):
            yield from ((key, part) for key, part in parent.value.items() if part.value is not None)

    def items(self, *keys: str) -> Iterator[Part]:
        """Yield the items of the list at the path `keys`."""
        parent = self.get(*keys)
        if parent is not None and isinstance(parent.value, list):
            yield from parent.value

    @property
    def children(self) -> list[Part]:
        """The values of a mapping or the items of a list; empty for a scalar."""
        values = self.value.values() if isinstance(self.value, Mapping) else self.value
        return list(values) if isinstance(self.value, (Mapping, list)) else []

    def walk(self) -> Iterator[Part]:
        """Yield the part itself, and each part inside the part."""
        yield self
        for part in self.children:
            yield from part.walk()

    def leaves(self) -> Iterator[Part]:
        """Yield each scalar inside the part, or the part itself if the part is a scalar. Skip null values."""
        yield from (part for part in self.walk() if not isinstance(part.value, (Mapping, list, type(None))))

    def scalar(self, value: Any) -> Part:
        """Return a new scalar that has the position and the path of this part."""
        return self.replaced(value=value, text=str(value))

    def with_part(self, path: Sequence[str], part: Part) -> Part:
        """Return a copy of this part with the part `part` at the given path. Missing parent mappings are added.

        An added mapping gets the position of its own parent.
        """
        if not path:
            return part
        fields = self.value if isinstance(self.value, Mapping) else {}
        child = fields.get(path[0]) or mapping(self, {})
        return mapping(self, {**fields, path[0]: child.with_part(path[1:], part)})

    def without(self, *keys: str) -> Part:
        """Return a copy of the mapping without the given keys. A part that is not a mapping stays unchanged."""
        if not isinstance(self.value, Mapping):
            return self
        return self.replaced(value={key: part for key, part in self.value.items() if key not in keys})

    def without_path(self, path: Path) -> Part:
        """Return a copy of the part without the value at a path. The path must end with a key."""
        step, *remaining_steps = path
        if not remaining_steps:
            return self.without(str(step))
        if isinstance(self.value, list) and isinstance(step, int) and step < len(self.value):
            items = [*self.value]
            items[step] = items[step].without_path(tuple(remaining_steps))
            return self.replaced(value=items)
        if isinstance(self.value, Mapping) and step in self.value:
            return self.replaced(value={**self.value, step: self.value[step].without_path(tuple(remaining_steps))})
        return self

    def problem(self, message: str, rule: str) -> Problem:
        """Return a problem of severity error at the position of the part."""
        return Problem(self.file, self.key, message, rule)


def document_part(document: Document) -> Part:
    """Convert a YAML document to a tree of parts, and return the root."""
    return _part(document.file, (), Entry.of_item(0, document.root), document.data)


def part_of(data: Any, path: Path = ()) -> Part:
    """Convert plain data to a part that has no file and no real positions."""
    start = Position(1, 1)
    value = data
    if isinstance(data, Mapping):
        value = {key: part_of(child, (*path, key)) for key, child in data.items()}
    elif isinstance(data, list):
        value = [part_of(child, (*path, index)) for index, child in enumerate(data)]
    return Part("", path, start, start, None, value)


def plain_data(part: Part, *, keeps_null: bool = False) -> Any:
    """Return the plain data of a part. As in Kubernetes (YAML 1.1), file modes such as 0644 are octal numbers.

    Args:
        part: the part.
        keeps_null: whether to keep the keys whose value is null.
    """
    if isinstance(part.value, Mapping):
        fields = part.value.items() if keeps_null else part.entries()
        return {key: plain_data(child, keeps_null=keeps_null) for key, child in fields}
    if isinstance(part.value, list):
        return [plain_data(child, keeps_null=keeps_null) for child in part.value]
    if part.path and part.path[-1] in ("defaultMode", "mode") and re.fullmatch("0o?[0-7]{1,4}", part.text or ""):
        return int(part.as_text.replace("o", ""), 8)
    return part.value


def scalar_part(file: str, position: Position, name: str, value: str) -> Part:
    """Return a part with the text `value`, for a word of a command line.

    `name` is the name of the part in messages, such as "--workers".
    """
    return Part(file, (name,), position, position, value, value)


def build_part(anchor: Part, shape: Any) -> Part:
    """Convert nested mappings and lists to one part. Example of nested mappings: {"spec": {"replicas": 2}}.

    The innermost values are parts or scalars. A new part gets the position of the part `anchor`.
    """
    if isinstance(shape, Mapping):
        return mapping(anchor, {key: build_part(anchor, value) for key, value in shape.items() if value is not None})
    if isinstance(shape, list):
        return sequence(anchor, [build_part(anchor, item) for item in shape])
    return shape if isinstance(shape, Part) else anchor.scalar(shape)


def mapping(anchor: Part, parts: Mapping[str, Part | None]) -> Part:
    """Convert the mapping `parts` to one part with the path and the position of `anchor`. Omit keys without a part."""
    return anchor.replaced(text=None, value={key: part for key, part in parts.items() if part is not None})


def sequence(anchor: Part, parts: Sequence[Part]) -> Part:
    """Convert the list `parts` to one part with the path and the position of `anchor`."""
    return anchor.replaced(text=None, value=list(parts))


def _part(file: str, path: Path, entry: Entry, data: Any) -> Part:
    children, value = entry.value.children, data
    if isinstance(data, Mapping):
        value = {name: _part(file, (*path, name), children[name], data[name]) for name in data}
    elif isinstance(data, list):
        value = [_part(file, (*path, index), children[index], item) for index, item in enumerate(data)]
    return Part(file, path, entry.position, entry.value.position, entry.value.text, value)


# -- objects -----------------------------------------------------------------------------------------------------


def objects(documents: Iterable[Document]) -> Iterator[Part | Problem]:
    """Yield the objects of YAML documents, and the problems of manifests that are texts in an object.

    In place of an object of kind List, yield the items of the List. An object that creates other objects, such as a
    Workflow, comes after its inner objects.
    """
    for document in documents:
        yield from _items(document_part(document))


def _items(part: Part) -> Iterator[Part | Problem]:
    if kind(part).endswith("List") and part.get("items"):
        for item in part.items("items"):
            yield from _items(item)
    elif kind(part) == "Experiment" and (trial := part.get("spec", *_TRIAL)):
        # Katib names each trial, and a trial template usually has no name.
        metadata = mapping(trial, {**part.value["metadata"].value, **dict(trial.entries("metadata"))})
        yield from _items(trial.with_part(("metadata",), metadata.without("labels", "annotations")))
        yield _user_object(part.without_path(("spec", *_TRIAL)))
    elif kind(part) in WORKFLOWS and api_group(part) == "argoproj.io":
        for template in part.leaves():
            if template.path[-2:] == ("resource", "manifest"):
                yield from _inner(template)
        yield _user_object(part)
    elif part.value is not None:
        yield _user_object(part)


def _inner(text: Part) -> Iterator[Part | Problem]:
    """Yield the objects in a text of a block scalar, with their positions in the file, and the problems of the text."""

    def moved(position: Position) -> Position:
        return Position(text.position.line + position.line, text.key.column + 1 + position.column)

    def placed(part: Part) -> Part:
        value = part.value
        if isinstance(value, Mapping):
            value = {key: placed(child) for key, child in value.items()}
        elif isinstance(value, list):
            value = [placed(child) for child in value]
        return part.replaced(key=moved(part.key), position=moved(part.position), value=value)

    parsed = parse(text.as_text, text.file)
    yield from (problem.replaced(position=moved(problem.position)) for problem in parsed.problems)
    for document in parsed.documents:
        yield from _items(placed(document_part(document)))


_TRIAL: Final = ("trialTemplate", "trialSpec")
"""The path of the manifest in the spec of an Experiment of Katib, which is an object and no text."""
WORKFLOWS: Final = ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow")
"""The kinds of Argo Workflows whose `resource` templates create objects."""


def api_group(item: Part) -> str:
    """Return the API group of an object; empty for the core group."""
    return item.text_at("apiVersion").rpartition("/")[0]


def api_version(item: Part) -> str:
    """Return the version in the apiVersion of an object, such as v1 for apps/v1."""
    return item.text_at("apiVersion").rpartition("/")[2]


def kind(item: Part) -> str:
    """Return the kind of an object."""
    return item.text_at("kind")


def name(item: Part) -> str:
    """Return the name of an object."""
    return item.text_at("metadata", "name")


# -- live objects ------------------------------------------------------------------------------------------------
#
# `kubectl get -o yaml` prints the fields of the API server as well. In objects of built-in kinds, the API server also
# sets defaults (see pkg/apis/{core,apps,batch}/v1/defaults.go of Kubernetes), but not in the pods of custom kinds.

_SERVER_FIELDS: Final = (
    *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields"),
    *("ownerReferences", "resourceVersion", "selfLink", "uid"),
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_ADDED_KEY: Final = re.compile(
    r"kubectl\.kubernetes\.io/|deployment\.kubernetes\.io/|batch\.kubernetes\.io/|apps\.kubernetes\.io/"
    r"|(controller-uid|job-name|controller-revision-hash|pod-template-hash|statefulset\.kubernetes\.io/pod-name)$"
)
"""Labels and annotations that controllers and kubectl add."""
_BUILT_IN_GROUPS: Final = ("", "apps", "batch")
POD_DEFAULTS: Final[Mapping[str, Any]] = {
    "dnsPolicy": "ClusterFirst",
    "hostUsers": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "resources": {},
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    # Fields of ports, variables and volumes:
    "apiVersion": "v1",
    "defaultMode": 0o644,
    "protocol": "TCP",
}
"""Field of a pod template -> default of Kubernetes."""
_DEFAULTS: Final[Mapping[str, Any]] = {
    **POD_DEFAULTS,
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "completions": 1,
    "enableServiceLinks": True,
    "failureThreshold": 3,
    "manualSelector": False,
    "minReadySeconds": 0,
    "parallelism": 1,
    "periodSeconds": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "podManagementPolicy": "OrderedReady",
    "podReplacementPolicy": "TerminatingOrFailed",
    "progressDeadlineSeconds": 600,
    "revisionHistoryLimit": 10,
    "successThreshold": 1,
    "suspend": False,
    "timeoutSeconds": 1,
    "type": "",
}
"""Field of an object that runs tasks -> default that the API server writes."""
_OF_PODS: Final = ("restartPolicy", "terminationGracePeriodSeconds")
"""Fields whose default only the spec of a pod has: an init container and a probe have fields with the same names."""
_USER_MAPS: Final = (
    *("annotations", "labels", "limits", "matchLabels"),
    *("nodeSelector", "options", "requests", "volumeAttributes"),
)
"""Mappings whose keys are no fields."""
_ACCESS_VOLUME: Final = "kube-api-access-"
"""The name prefix of the volume that the API server adds for the token of the service account."""


def is_generated(item: Part) -> bool:
    """Return whether a live object is one that a controller or tfgen created. The user wrote all other objects."""
    owners = item.items("metadata", "ownerReferences")
    is_owned = any(owner.get("controller") for owner in owners) or bool(item.get("metadata", "labels", keys.JOB))
    return item.get("metadata", "uid") is not None and is_owned


def _user_object(item: Part) -> Part:
    """Return an object without the fields of the API server; without defaults if it is a live object."""
    metadata, spec = item.get("metadata"), item.get("spec")
    if metadata is None or not isinstance(metadata.value, Mapping) or is_generated(item):
        return item
    is_live = metadata.get("uid") is not None and api_group(item) in _BUILT_IN_GROUPS
    item = item.without("status").with_part(("metadata",), _user_metadata(metadata, is_live=is_live))
    if not is_live or spec is None or not isinstance(spec.value, Mapping):
        return item
    spec = _without_defaults(spec.without("selector") if kind(item) == "Job" else spec)
    if (pod_metadata := spec.get("template", "metadata")) and isinstance(pod_metadata.value, Mapping):
        spec = spec.with_part(("template", "metadata"), _user_metadata(pod_metadata, is_live=True))
    return item.with_part(("spec",), spec)


def _user_metadata(metadata: Part, *, is_live: bool) -> Part:
    fields = metadata.without(*_SERVER_FIELDS)
    for section in ("annotations", "labels"):
        added = [k for k, _ in fields.entries(section) if k == _LAST_APPLIED or (is_live and _ADDED_KEY.match(k))]
        if added:
            rest = fields.value[section].without(*added)
            fields = fields.with_part((section,), rest) if rest.value else fields.without(section)
    return fields


def _without_defaults(part: Part) -> Part:
    if isinstance(part.value, list):
        items = [item for item in part.value if not item.text_at("name").startswith(_ACCESS_VOLUME)]
        return sequence(part, [_without_defaults(item) for item in items])
    if not isinstance(part.value, Mapping):
        return part
    fields = {key: child if key in _USER_MAPS else _without_defaults(child) for key, child in part.entries()}
    defaults = {key for key in fields if key in _DEFAULTS and (key not in _OF_PODS or "containers" in fields)}
    removed = {key for key in defaults if fields[key].data == _DEFAULTS[key]}
    if part.text_at("serviceAccount") == part.text_at("serviceAccountName"):
        removed.add("serviceAccount")
    image = part.text_at("image")
    is_latest = image.rpartition("/")[2].partition(":")[2] in ("", "latest") and "@" not in image
    if part.text_at("imagePullPolicy") == ("Always" if is_latest else "IfNotPresent"):
        removed.add("imagePullPolicy")
    if "requests" in fields and "limits" in fields:
        # Without a request, Kubernetes sets the request to the limit.
        limits = fields["limits"].data
        same = [key for key, amount in fields["requests"].entries() if amount.data == limits.get(key)]
        fields["requests"] = fields["requests"].without(*same)
        removed |= set() if fields["requests"].value else {"requests"}
    return mapping(part, {key: child for key, child in fields.items() if key not in removed})
