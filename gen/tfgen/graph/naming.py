"""The names, labels and values in the objects of a job, and the guards for names that are too long.

The name of an object that belongs to the job, such as a claim, contains the name of the Helm release. The name of an
object that belongs to a run, such as a workload, the Service or a pod, also contains the name of the run, because a run
cannot be changed in place. Only a chart has the values `nameOverride` and `fullnameOverride` (`schema.tunables`).
In all other outputs, both values are empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias, TypeVar

from tfgen.data_path import ValueType
from tfgen.graph import holes as h
from tfgen.graph.holes import Expression, Key, Name, Node, plain_mapping, type_of
from tfgen.job.training_job import Role, RoleName
from tfgen.kubernetes import keys
from tfgen.record import EMPTY
from tfgen.schema import tunables
from tfgen.schema.tunables import Tunable

# -- values ------------------------------------------------------------------------------------------------------------
#
# The placeholders for tunables. The type of each hole comes from the job schema.
#
#     value("roles.worker.replicas")  ->  Value(path='roles.worker.replicas', type='integer')


ROLE: Final = h.Parameter("role")
"""The parameter with the name of the role, in a named template that all roles share."""

ROLE_VALUES: Final = h.Parameter("values", "map")
"""The parameter with the values of the role, in a named template that all roles share."""


_Hole = TypeVar("_Hole", h.Value, h.Parameter)

TEXT: Final = h.NamedTemplate(
    "text",
    "A text. A number, such as 2 in --set run=2, becomes a text with all digits.",
    h.ChartOnly('{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}'),
)

TEXTS: Final = h.NamedTemplate(
    "texts",
    "A map or list of texts. Numbers and booleans become texts, and maps remain maps.",
    h.ChartOnly("""\
{{- range $key, $value := . }}
{{ if kindIs "string" $key }}{{ $key | quote }}:{{ else }}-{{ end }}
{{- if kindIs "map" $value }} {{ mustToRawJson $value }}
{{- else if kindIs "float64" $value }} {{ $value | int64 | quote }}
{{- else }} {{ $value | quote }}
{{- end }}
{{- end }}"""),
)

AMOUNTS: Final = h.NamedTemplate(
    "amounts",
    "A map of quantities. Numbers become texts: the schemas of custom kinds refuse a fraction.",
    h.ChartOnly("""\
{{- range $name, $amount := . }}
{{ $name | quote }}: {{ toString $amount | quote }}
{{- end }}"""),
)


@cache
def value(path: str) -> h.Value | h.AsText:
    """Return the hole for a values path.

    Raises:
        LookupError: the job schema has no tunable at the path.
    """
    tunable = tunables.at(path.split("."))
    return _as_text_if_needed(h.Value(path, tunable.type), tunable)


@cache
def role_value(field: str) -> h.Parameter | h.AsText:
    """Return the hole for a field of a role, in a named template that all roles share."""
    tunable = tunables.at(("roles", "worker", *field.split(".")))
    return _as_text_if_needed(ROLE_VALUES.replaced(type=tunable.type, path=field), tunable)


def _as_text_if_needed(hole: _Hole, tunable: Tunable) -> _Hole | h.AsText:
    if tunable.has_amounts:
        return h.AsText(hole, AMOUNTS)
    return as_text(hole) if tunable.chart_types else hole


@cache
def role_or_job_value(field: str) -> h.Override | h.AsText:
    """Return the hole for a field of a role. If the role does not set the field, the hole has the job's value.

    The hole is for a named template that all roles share.
    """
    return overridden(role_value(field), value(field))


def overridden(role: Expression, fallback: Node) -> h.Override | h.AsText:
    """Return the hole for the value of a role, with a fallback for a role that does not set the value."""
    if isinstance(role, h.AsText) and isinstance(fallback, h.AsText):
        return as_text(overridden(role.tree, fallback.tree))
    if not isinstance(role, (h.Value, h.Parameter)):
        raise TypeError(f"not a value of a role: {role!r}")
    return h.Override(role, fallback)


def as_text(tree: Expression) -> h.AsText:
    """Return a hole that converts each number and boolean in a tunable text, map or list to text."""
    return h.AsText(tree, TEXT if type_of(tree) == "string" else TEXTS)


def value_for_role(role: RoleName, field: str) -> h.Override | h.AsText:
    """Return the hole for a field of the given role, with the value of the job if the role does not set the field."""
    return overridden(value(f"roles.{role}.{field}"), value(field))


ROLE_ENTRIES: Final = h.CheckedMap(h.Value("roles", "map"), "role", "values")
"""The entries of `roles`, for a guard that checks each role. The guard can read the name and the values of the role."""

ROLE_NAME: Final = h.Bound(ROLE_ENTRIES.key)


def role_entry_value(field: str, value_type: ValueType) -> h.Bound:
    """Return the hole for `field` of a role, for a guard whose test runs for each role (`over=(ROLE_ENTRIES,)`)."""
    return h.Bound(ROLE_ENTRIES.item, value_type, field)


# -- names -------------------------------------------------------------------------------------------------------------


PodName: TypeAlias = Callable[[Node, Node], Node]
"""Function that takes a role and the index of a task, and returns the pod name, which is also the host name."""

RELEASE = h.Release("Release.Name")
NAME = h.NamedTemplate(
    "name",
    "The name of the chart, or nameOverride.",
    h.Default(h.Value("nameOverride", "string"), h.Release("Chart.Name")),
)

_FULL = h.Value("fullnameOverride", "string")

JOB = h.NamedTemplate(
    "fullname",
    "The name of the job: fullnameOverride, or RELEASE-CHART, or RELEASE if the name of the release contains the name "
    "of the chart.",
    h.When(_FULL, _FULL, h.When(h.Contains(RELEASE, NAME), RELEASE, h.Text((RELEASE, "-", NAME)))),
)

RUN = h.NamedTemplate(
    "run",
    "The name of the run: JOB-RUN, or JOB if the run has no name.",
    h.Text((JOB, h.When(value("run"), h.Text(("-", value("run")))))),
)

TENSORBOARD: Final = h.Text((JOB, "-tensorboard"))
"""The name of TensorBoard's Deployment, Service and network policy. The objects belong to the job."""

CONNECTION_TEST: Final = h.Text((RUN, "-connection-test"))
"""The name of the test pod that ``helm test`` runs."""

FINISHER: Final = h.Text((RUN, "-finisher"))
"""The name of the Job, ServiceAccount, Role and RoleBinding of the finisher."""

ELASTIC_DL_MASTER: Final = h.Text(("elasticdl-", RUN, "-master"))
"""The name of the ElasticDL master's pod. The pods and the client of ElasticDL require this name."""

ELASTIC_DL_ACCOUNT: Final = h.Text((RUN, "-master"))
"""The name of the ServiceAccount, Role and RoleBinding of the ElasticDL master."""

CONTAINER: Final = "tensorflow"  # the TFJob operator requires this name, and tools look for the name
PORT_NAME: Final = "tensorflow"

# The label controller-revision-hash of a pod contains the name of the StatefulSet and a hash of 10 characters.
# Kubernetes accepts a longer name, but never creates a pod (https://github.com/kubernetes/kubernetes/issues/64023).
STATEFUL_SET_NAME_MAX = 52
HOST_NAME_MAX = 63  # a DNS label (RFC 1123); the host name of a task is the name of its pod
SERVICE_NAME_MAX = 63  # a DNS label
LABEL_VALUE_MAX = 63  # the name of a Job is a label value of its pods


def workload(role: Node) -> h.Text:
    """Return the name of the workload object of a role, such as a StatefulSet."""
    return h.Text((RUN, "-", role))


def of_job(key: Node) -> h.Text:
    """Return the name of an object that a key of the job creates: a claim of `storage`, or an object of `objects`."""
    return h.Text((JOB, "-", key))


def data(part: str, content: str, length: int = 8) -> h.Text:
    """Return the name of an immutable ConfigMap. The name contains a digest of the content.

    Args:
        part: the name of the part of the run that reads the ConfigMap, such as `finisher`.
        content: the text of the files in the ConfigMap.
        length: the number of hexadecimal digits of the digest.
    """
    return h.Text((RUN, f"-{part}-{hashlib.sha256(content.encode()).hexdigest()[:length]}"))


def pod(role: Node, index: Node) -> h.Text:
    """Return the name of a task's pod, which is also the pod's host name."""
    return h.Text((workload(role), "-", index))


def job_set_pod(role: Node, index: Node) -> h.Text:
    """Return the name of a task's pod in a JobSet: `RUN-ROLE-0-INDEX`. The 0 is the index of the role's only Job."""
    return h.Text((workload(role), "-0-", index))


def host(pod_name: Node, port: int) -> h.Text:
    """Return the host of a task as ``POD.SERVICE:PORT``. A host without a namespace works in every namespace."""
    return h.Text((pod_name, ".", RUN, f":{port}"))


# -- labels ------------------------------------------------------------------------------------------------------------


BEFORE_PODS: Final[Mapping[Key, Node]] = {
    h.Comment(
        "Argo CD applies the objects of this sync wave before the pods, which need the objects at their start."
    ): None,
    **plain_mapping(keys.BEFORE_PODS),
}
"""The annotation with an early sync wave of Argo CD, for an object that must exist before the pods."""

IGNORED_REPLICAS: Final[Mapping[Key, Node]] = {
    h.Comment("With RespectIgnoreDifferences=true, Argo CD 3.6 or newer does not start released tasks again."): None,
    **plain_mapping(keys.IGNORED_REPLICAS),
}
"""The annotation of an object that the finisher and `tfgen release` scale to 0."""

KEEP: Final[Mapping[Key, Node]] = {
    h.Comment(
        "Argo CD, Flux and Helm keep the claim when they delete the job. IgnoreExtraneous lets Argo CD show the job as "
        "synced while the claim remains."
    ): None,
    **plain_mapping(keys.KEEP),
}
"""The annotations that keep a claim when the job is deleted."""

UNDISTURBED: Final = h.Comment(
    "The annotations safe-to-evict and do-not-disrupt keep the pod on its node, because a task that an autoscaler "
    "moves loses its work. A mesh sidecar is disabled, because a Job with such a sidecar never completes."
)

# The labels of the chart and the Helm release, which are not part of a selector.
INSTALLED: Final[Mapping[Key, Node]] = {
    keys.MANAGED_BY: h.ChartOnly("{{ .Release.Service }}", filled="tfgen"),
    keys.CHART: h.ChartOnly(
        '{{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" }}'
    ),
}

_OWNER = h.NamedTemplate(
    "owner",
    "The labels of the chart and the Helm release.",
    {keys.NAME: NAME, keys.INSTANCE: RELEASE, **INSTALLED},
)

_COMMON = h.NamedTemplate(
    "labels",
    "The labels of every object.",
    {h.Splice("owner"): _OWNER, h.Splice("labels"): value("labels")},
)

LITERAL_LABELS: Final = h.Bound("labels", "map")
LITERAL_ANNOTATIONS: Final = h.Bound("annotations", "map")

_RUN_LABELS: Final[Mapping[str, Node]] = {keys.JOB: JOB, keys.RUN: value("run")}
ROLE_LABELS: Final[Mapping[str, Node]] = {**_RUN_LABELS, keys.ROLE: ROLE}
"""Each label of the selector of a role, by its key."""
RUN_SELECTOR: Final = h.NamedTemplate("selector", "The selector of the pods of a run.", dict(_RUN_LABELS.items()))
"""The labels that select the pods of a run."""


def kubernetes_object(
    version: Node,
    kind: str,
    name: Node,
    fields: Mapping[Key, Node],
    annotations: Mapping[Key, Node] = EMPTY,
    labels: Mapping[Key, Node] = EMPTY,
) -> dict[Key, Node]:
    """Return an object of the job.

    Args:
        version: the API version, such as `apps/v1`.
        kind: the kind.
        name: the name of the object.
        fields: the fields beside the metadata.
        annotations: annotations that tfgen sets.
        labels: labels that tfgen sets, except for the labels of every object.
    """
    of_job = value("annotations")
    metadata: Node = {
        "name": name,
        "labels": {h.Splice("labels"): _COMMON, **labels} if labels else _COMMON,
        "annotations": {**annotations, h.Splice("annotations"): of_job} if annotations else of_job,
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def immutable_config_map(name: Node, data: Mapping[Key, Node]) -> Node:
    """Return an immutable ConfigMap, whose name contains a digest of its data (the function `data`)."""
    return kubernetes_object("v1", "ConfigMap", name, {"immutable": True, "data": data}, BEFORE_PODS)


def literal_metadata(name: Node) -> Node:
    """Return the metadata of an object with the name `name` under `objects` of the job file.

    The labels and annotations of the object override the labels and annotations of the job.
    """
    return {
        "name": name,
        "labels": {h.Splice("owner"): _OWNER, keys.OBJECT: h.Bound("name"), h.Splice("labels"): LITERAL_LABELS},
        "annotations": LITERAL_ANNOTATIONS,
    }


def has_labels_of_metadata(item: Mapping[Key, Node]) -> bool:
    """Return True if the function `kubernetes_object` has set the labels of an object. A Pod has other labels."""
    metadata = item["metadata"]
    node = metadata["labels"] if isinstance(metadata, dict) else None
    return node == _COMMON or (isinstance(node, dict) and node.get(h.Splice("labels")) == _COMMON)


def entries_set_by_tfgen(item: Mapping[Key, Node], field: str) -> dict[Key, Node]:
    """Return the labels or annotations that tfgen sets on the object `item`, but not on every object, by their keys.

    `field` is `labels` or `annotations`.
    """
    node = _metadata_of(item)[field]
    return (
        {key: child for key, child in node.items() if not isinstance(key, h.Splice)} if isinstance(node, dict) else {}
    )


def with_overriding_metadata(
    item: Mapping[Key, Node], added_labels: Sequence[Expression], added_annotations: Sequence[Expression]
) -> Node:
    """Return an object with additional labels and annotations, which override the labels and annotations of the job.

    Args:
        item: the object.
        added_labels: maps of labels. A later map overrides an earlier map.
        added_annotations: maps of annotations. A later map overrides an earlier map, and each map overrides the
            annotations that tfgen sets.
    """
    metadata = _metadata_of(item)
    changed = {**metadata}
    lets: list[tuple[h.Bound, Expression]] = []
    if added_labels:
        lets.append((LITERAL_LABELS, h.Merged((h.MapOf({}), value("labels"), *added_labels))))
        entries = entries_set_by_tfgen(item, "labels")
        changed["labels"] = {h.Splice("owner"): _OWNER, **entries, h.Splice("labels"): LITERAL_LABELS}
    if added_annotations:
        annotations = entries_set_by_tfgen(item, "annotations")
        lowest: dict[Name, Node] = {key: node for key, node in annotations.items() if isinstance(key, str)}
        is_literal = metadata["annotations"] == LITERAL_ANNOTATIONS
        present = LITERAL_ANNOTATIONS if is_literal else value("annotations")
        lets.append((LITERAL_ANNOTATIONS, h.Merged((h.MapOf(lowest), present, *added_annotations))))
        changed["annotations"] = LITERAL_ANNOTATIONS
    node: Node = {**item, "metadata": changed}
    for bound, expression in lets:
        node = h.Let(bound.name, expression, node)
    return node


def _metadata_of(item: Mapping[Key, Node]) -> dict[Key, Node]:
    node = item["metadata"]
    if not isinstance(node, dict):
        raise TypeError(f"not the metadata of tfgen: {node!r}")
    return node


def role_selector(role: Node) -> Node:
    """Return the labels that select the pods of a role in a run."""
    return {h.Splice("selector"): RUN_SELECTOR, keys.ROLE: role}


def pod_labels() -> h.Merged:
    """Return the labels of a task's pod: the defaults of tfgen, overridden by the job, and then by the role."""
    return h.Merged((h.MapOf({keys.ISTIO_INJECT: "false"}), value("labels"), role_value("labels")))


def pod_annotations() -> h.Merged:
    """Return the annotations of a task's pod: the defaults of tfgen, overridden by the user's annotations."""
    defaults = h.MapOf(
        {keys.CLUSTER_AUTOSCALER_EVICT: "false", keys.KARPENTER_KEEP: "true", keys.LINKERD_INJECT: "disabled"}
    )
    return h.Merged((defaults, value("annotations"), role_value("annotations")))


POD_LABELS: Final = h.Bound("labels", "map")
POD_ANNOTATIONS: Final = h.Bound("annotations", "map")


# -- name guards -------------------------------------------------------------------------------------------------------


def stateful_set_guards(roles: Iterable[Role]) -> list[h.Guard]:
    """Return a list with the guard for the longest StatefulSet name; an empty list if no role has a StatefulSet."""
    problem = "the StatefulSet's name {} has {} characters, but the name of a StatefulSet may have at most"
    return [
        _length_guard("statefulset-name", h.Bound("statefulSet"), workload(role), problem, STATEFUL_SET_NAME_MAX)
        for role in sorted((role.name for role in roles), key=len)[-1:]
    ]


def role_hosts_guard(pod: PodName) -> h.Guard:
    """Return the guard that limits the length of host names. The last pod of a role has the longest host name."""
    last = h.Sum(h.Default(role_entry_value("replicas", "integer"), 1), -1)
    return host_name_guard(pod(ROLE_NAME, last)).replaced(over=(ROLE_ENTRIES,))


def finisher_name_guard() -> h.Guard:
    """Return the guard that limits the length of the finisher's name, which is a label value of the finisher's pods.

    A job with several tasks does not need this guard, because another guard limits the host names of the job, which are
    at least as long as the finisher's name.
    """
    problem = "the finisher's Job would be named {}, which has {} characters, but a label value may have at most"
    return _length_guard("finisher-name", h.Bound("finisher"), FINISHER, problem, LABEL_VALUE_MAX)


def host_name_guard(name: Node) -> h.Guard:
    """Return the guard that limits the length of a pod's name, which is also the host name of the pod."""
    problem = "the host name {} has {} characters, but a DNS label may have at most"
    return _length_guard("host-name", h.Bound("host"), name, problem, HOST_NAME_MAX)


def _length_guard(rule: str, hole: h.Bound, name: Node, problem: str, maximum: int) -> h.Guard:
    """Return the guard that limits the number of bytes of a name that contains the name of the run.

    `hole` stands for the name in the guard. `problem` is the message up to the maximum, with {} for the name and for
    its length.
    """
    return h.Guard(
        rule,
        at="run",
        let=((hole.name, name),),
        when=h.Greater(h.Length(hole), maximum),
        say=f"{problem} {maximum}; shorten the name of the job, of the release or of the run",
        about=(hole, h.Length(hole)),
    )
