"""A row of the table of rules for the objects of a job, and the search for the fields that break a rule.

A row has a path, a test and a fix. The path begins with the kind of an object, with `*` for each kind, with `pod` for
the spec of each pod, or with `template` for each pod with its metadata. A later step is a key, several keys such as
`requests|limits`, or `*` for each key or item:

    Row("device-in-parts", "pod.containers.*.resources.limits.*", is_part_of_a_device, "request whole devices", ...)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from tfgen import data_path
from tfgen.check.object_checks.fault import Fault, FieldPath
from tfgen.check.object_checks.pods import Pods, literal_pods, pods_of
from tfgen.job.choices import PROFILES, Profile
from tfgen.kubernetes.kinds import KINDS
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.problems import Severity
from tfgen.record import Record

Version = tuple[int, ...]

API_SERVER: Final = "the API server"
JOBSET_WEBHOOK: Final = "the webhook of JobSet"
KERNEL: Final = "Linux"
POD_SECURITY: Final = "Pod Security"
RUNTIME: Final = "the container runtime"
NOBODY: Final = ""
"""The value of `Row.refused_by` for a field that the cluster accepts, but that probably is a mistake."""

OBJECT_VERSION: Final = "object-version"
"""The rule that reports a field which only some versions of Kubernetes refuse, if the version is not known."""

_OLDEST: Final[Version] = (1, 35)
"""The oldest version that the Kubernetes project supports: https://kubernetes.io/releases/."""


_MAX_FAULTS: Final = 100
"""Maximum number of faults of one object, because an object of a hostile file may have a million faults."""


class Destination(NamedTuple):
    """The cluster that gets the objects of a job.

    Attributes:
        version: the version of Kubernetes; None if the version is not known.
        profile: the Pod Security profile of the job.
        has_gitops: whether a GitOps tool applies the objects.
    """

    version: Version | None
    profile: Profile
    has_gitops: bool


class Field(NamedTuple):
    """A field of an object.

    Attributes:
        path: the path of the field in the object.
        value: the value of the field, which is not None.
        parents: the mappings and lists that contain the field, the outermost first.
        owner: the object.
        pods: the pods that contain the field; None for a field outside a pod.
    """

    path: FieldPath
    value: Any
    parents: tuple[Any, ...]
    owner: Object
    pods: Pods | None

    @property
    def key(self) -> Any:
        """The last step of the path, such as `nvidia.com/gpu`."""
        return self.path[-1]

    def parent(self, steps: int = 1) -> Any:
        """Return the mapping or list that is `steps` steps above the field."""
        return self.parents[-steps]

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec of the pod that contains the field; empty for a field outside a pod."""
        return self.pods.spec if self.pods else {}


class Row(Record):
    """A rule for a field of the objects of a job.

    Attributes:
        rule: the id of the rule.
        path: the path of the field.
        test: a function that returns what is wrong with the field, as words for a message; empty for a correct field.
        fix: the fix, as words for a message.
        refused_by: the component that refuses the field, such as `API_SERVER`.
        source: the documentation, or the function of Kubernetes, that has the rule.
        severity: the severity of the problem.
        since: the first version of Kubernetes that refuses the field; None for all versions.
        until: the first version that accepts the field again; None if no version accepts the field.
        profile: the strictest Pod Security profile that allows the field; None for a field that every profile refuses.
        of_literals: whether the rule also applies to the entries of `objects`.
        of_gitops: whether the rule applies only to objects that a GitOps tool applies.
        key: the key of the job that sets the field, for a field without a hole; empty for no such key.
    """

    rule: str
    path: str
    test: Callable[[Field], str]
    fix: str
    source: str
    refused_by: str = API_SERVER
    severity: Severity = "error"
    since: Version | None = None
    until: Version | None = None
    profile: Profile | None = None
    of_literals: bool = True
    of_gitops: bool = False
    key: str = ""

    def severity_in(self, version: Version | None) -> Severity | None:
        """Return the severity of the problem in a cluster of a version, or None if the cluster accepts the field.

        If the version is not known, a field that only some of the supported versions refuse is a warning.
        """
        if version is not None:
            is_in_range = (self.since or version) <= version and (self.until is None or version < self.until)
            return self.severity if is_in_range else None
        if self.until is not None and self.until <= _OLDEST:
            return None
        return "warning" if self.until or (self.since and self.since > _OLDEST) else self.severity


class RuleFault(NamedTuple):
    """A fault with the id and the severity of the problem, and the row of the table that found the fault, or None."""

    rule: str
    severity: Severity
    fault: Fault
    row: Row | None = None


class _Branch:
    """The rows below one step of a path, so that the search visits each field of an object once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.children: dict[str, _Branch] = {}

    def add(self, row: Row, steps: list[str]) -> None:
        if not steps:
            self.rows.append(row)
            return
        for step in steps[0].split("|"):
            self.children.setdefault(step, _Branch()).add(row, steps[1:])


class Table:
    """A table of rows.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)
        self._root = _Branch()
        for row in self.rows:
            self._root.add(row, row.path.split("."))

    def faults(self, item: Object, destination: Destination) -> Iterator[RuleFault]:
        """Yield each field of an object that breaks the rule of a row, for at most `_MAX_FAULTS` fields.

        Args:
            item: the object.
            destination: the cluster that gets the object.
        """
        return islice(self._faults(item, destination), _MAX_FAULTS)

    def _faults(self, item: Object, destination: Destination) -> Iterator[RuleFault]:
        is_literal = literal_name(item) is not None
        for row, field in self._fields(item):
            severity = row.severity_in(destination.version)
            if (
                severity is None
                or (is_literal and not row.of_literals)
                or (row.of_gitops and not destination.has_gitops)
            ):
                continue
            if row.profile is not None and PROFILES.index(row.profile) <= PROFILES.index(destination.profile):
                continue
            if mistake := _mistake(row, field, is_literal=is_literal):
                # A warning of a row whose problem is otherwise an error depends on the version.
                rule = row.rule if severity == row.severity else OBJECT_VERSION
                message = _message(row, mistake, destination)
                yield RuleFault(rule, severity, Fault(item, field.path, message), row)

    def _fields(self, item: Object) -> Iterator[tuple[Row, Field]]:
        for name in (item["kind"], "*"):
            if name in self._root.children:
                yield from _walk(self._root.children[name], Field((), item, (), item, None))
        # The API server does not check the pod templates of a custom kind, whose operator may complete the templates.
        literals = literal_pods(item) if group(item) in KINDS else ()
        for pods in (*pods_of(item), *literals):
            template = data_path.follow(item, pods.path[:-1])
            for name, path, value in (("template", pods.path[:-1], template), ("pod", pods.path, pods.spec)):
                if name in self._root.children:
                    yield from _walk(self._root.children[name], Field(path, value, (), item, pods))


def _walk(branch: _Branch, field: Field) -> Iterator[tuple[Row, Field]]:
    yield from ((row, field) for row in branch.rows)
    value = field.value
    for step, child_branch in branch.children.items():
        if step == "*":
            items: Iterable[tuple[Any, Any]] = (
                value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
            )
        else:
            items = ((step, value[step]),) if isinstance(value, Mapping) and step in value else ()
        for key, child in items:
            if child is not None:
                yield from _walk(
                    child_branch, field._replace(path=(*field.path, key), value=child, parents=(*field.parents, value))
                )


def _mistake(row: Row, field: Field, *, is_literal: bool) -> str:
    """Return the mistake that a row finds in a field.

    An object under `objects` of a custom kind may have any shape, and the server refuses a wrong shape anyway.
    """
    try:
        return row.test(field)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        if not is_literal:
            raise
        return ""


def _message(row: Row, mistake: str, destination: Destination) -> str:
    version, profile, _ = destination
    if row.profile is not None:
        return f"security.profile {profile} refuses {mistake}; {row.fix}, or set security.profile to {row.profile}"
    if row.refused_by == NOBODY:
        return f"{mistake}; {row.fix}"
    refused = f"{mistake}, which {row.refused_by} refuses"
    if row.since or row.until:
        refused += f" {_range(row)}" if version is None else f" in Kubernetes {_text(version)}"
    return f"{refused}; {row.fix}"


def _range(row: Row) -> str:
    since = f"from {_text(row.since)}" if row.since else ""
    until = f"before {_text(row.until)}" if row.until else ""
    return f"in Kubernetes {' and '.join(filter(None, (since, until)))}"


def _text(version: Version) -> str:
    return ".".join(map(str, version))
