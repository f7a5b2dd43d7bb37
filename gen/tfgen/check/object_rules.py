"""Rules for single fields of the objects of a job, and the search for the fields that break a rule.

A rule is a row of a table, and has a path, a test and a fix. The path begins with the kind of an object, with `*` for
each kind, with `pod` for the spec of each pod, or with `template` for each pod with its metadata. A later step is a
key, several keys such as `requests|limits`, or `*` for each key or item:

    Row("device-in-parts", "pod.containers.*.resources.limits.*", is_part_of_a_device, "request whole devices", ...)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from tfgen import data_path
from tfgen.check.object_links import ObjectFault
from tfgen.errors import Severity
from tfgen.kubernetes.object import KINDS, Object, group, literal_name
from tfgen.kubernetes.pods import FieldPath, Pods, Profile, literal_pods, pods_of
from tfgen.record import Record
from tfgen.words import either, shown

Version: TypeAlias = tuple[int, ...]

API_SERVER: Final = "the API server"
NOBODY: Final = ""
"""The value of `Row.refused_by` for a field that the cluster accepts, but that probably is a mistake."""

OBJECT_REFUSED: Final = "object-refused"
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
        destination: the cluster that gets the object.
    """

    path: FieldPath
    value: Any
    parents: tuple[Any, ...]
    owner: Object
    pods: Pods | None
    destination: Destination

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


Test: TypeAlias = Callable[[Field], str]
"""A function that returns what is wrong with a field, as words for a message; empty for a correct field."""


Check: TypeAlias = tuple[Test, str]
"""A test and the fix of the mistake that the test finds, as words for a message."""


class Row(Record):
    """A rule for a field of the objects of a job.

    Attributes:
        rule: the id of the rule.
        path: the path of the field.
        test: the test of the field.
        fix: the fix, as words for a message.
        refused_by: the component that refuses the field, such as `API_SERVER`.
        severity: the severity of the problem.
        of_literals: whether the rule also applies to the entries of `objects`.
        until: the first version of Kubernetes that accepts the field; None if no version accepts the field.
        job_key: the key of the job that sets the field, for a field without a hole; empty for no such key.
    """

    rule: str
    path: str
    test: Test
    fix: str
    refused_by: str = API_SERVER
    severity: Severity = "error"
    of_literals: bool = True
    until: Version | None = None
    job_key: str = ""

    def severity_in(self, version: Version | None) -> Severity | None:
        """Return the severity of the problem in a cluster of a version, or None if the cluster accepts the field.

        If the version is not known, a field that only some of the supported versions refuse is a warning.
        """
        if self.until is None:
            return self.severity
        if version is None:
            return "warning" if self.until > _OLDEST else None
        return self.severity if version < self.until else None

    def message(self, mistake: str, version: Version | None) -> str:
        """Return the message for a mistake that the test finds, in a cluster of a version."""
        if self.refused_by == NOBODY:
            return f"{mistake}; {self.fix}"
        versions = ""
        if self.until is not None:
            before, number = ("before ", self.until) if version is None else ("", version)
            versions = f" in Kubernetes {before}{'.'.join(map(str, number))}"
        return f"{mistake}, which {self.refused_by} refuses{versions}; {self.fix}"


class _Branch:
    """The rows below one step of a path, so that the search visits each field of an object once."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.children: dict[str, _Branch] = {}

    def add(self, row: Row, steps: Sequence[str]) -> None:
        if not steps:
            self.rows.append(row)
            return
        for step in steps[0].split("|"):
            self.children.setdefault(step, _Branch()).add(row, steps[1:])

    def walk(self, field: Field, found: list[tuple[Row, Field]]) -> None:
        """Append each row to `found`, with each field of its path."""
        found += [(row, field) for row in self.rows]
        path, value, parents, owner, pods, destination = field
        is_map = isinstance(value, dict)
        if not is_map and not isinstance(value, list):
            return
        parents = (*parents, value)
        for step, branch in self.children.items():
            items: Iterable[tuple[Any, Any]] = ()
            if is_map:
                items = value.items() if step == "*" else ((step, value[step]),) if step in value else ()
            elif step == "*":
                items = enumerate(value)
            for key, child in items:
                if child is not None:
                    branch.walk(Field((*path, key), child, parents, owner, pods, destination), found)


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

    def faults(self, item: Object, destination: Destination) -> Iterator[ObjectFault]:
        """Yield each field of an object that breaks the rule of a row, for at most `_MAX_FAULTS` fields.

        Args:
            item: the object.
            destination: the cluster that gets the object.
        """
        return islice(self._faults(item, destination), _MAX_FAULTS)

    def _faults(self, item: Object, destination: Destination) -> Iterator[ObjectFault]:
        is_literal = literal_name(item) is not None
        for row, field in self._fields(item, destination):
            severity = row.severity_in(destination.version)
            if severity is None or (is_literal and not row.of_literals):
                continue
            try:
                mistake = row.test(field)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                if not is_literal:
                    raise
                continue  # An entry of `objects` may have any shape, and the API server refuses a wrong shape anyway.
            if mistake:
                # A warning of a row whose problem is otherwise an error depends on the version.
                rule = row.rule if severity == row.severity else OBJECT_VERSION
                message = row.message(mistake, destination.version)
                yield ObjectFault(item, field.path, message, rule, severity, row.job_key)

    def _fields(self, item: Object, destination: Destination) -> list[tuple[Row, Field]]:
        branches = self._root.children
        found: list[tuple[Row, Field]] = []
        for name in (item["kind"], "*"):
            if name in branches:
                branches[name].walk(Field((), item, (), item, None, destination), found)
        # The API server does not check the pod templates of a custom kind, whose operator may complete the templates.
        literals = literal_pods(item) if group(item) in KINDS else ()
        for pods in (*pods_of(item), *literals):
            template = data_path.follow(item, pods.path[:-1])
            for name, path, value in (("template", pods.path[:-1], template), ("pod", pods.path, pods.spec)):
                if name in branches:
                    branches[name].walk(Field(path, value, (), item, pods, destination), found)
        return found


CONTAINER: Final = "pod.initContainers|containers.*"
"""The path of each container."""


def refused(path: str, test: Test, fix: str, refused_by: str = API_SERVER) -> Row:
    """Return a row for a field that a component of the cluster refuses."""
    return Row(OBJECT_REFUSED, path, test, fix, refused_by)


def generated(rule: str, path: str, test: Test, fix: str, severity: Severity = "warning", job_key: str = "") -> Row:
    """Return a row for a field that the cluster accepts. The row does not apply to the entries of `objects`."""
    return Row(rule, path, test, fix, NOBODY, severity, of_literals=False, job_key=job_key)


# -- tests that several rows share ---------------------------------------------------------------------------------


DATA_KEY: Final = re.compile(r"(?!\.\.)(?!\.$)[-._a-zA-Z0-9]{1,253}")
DATA_KEY_FIX: Final = "write letters, digits, dashes, underscores and dots, without two dots at the beginning"


def exists(description: str) -> Test:
    """Return a test that refuses each value of a field except an empty value."""
    return lambda field: description if field.value or field.value == 0 else ""


def wrong_value(is_wrong: Callable[[Any], bool]) -> Test:
    """Return a test that refuses the values for which `is_wrong` is True."""
    return lambda field: f"{field.key} {shown(field.value)}" if is_wrong(field.value) else ""


def not_matching(pattern: re.Pattern[str]) -> Test:
    """Return a test that refuses a text that does not match a pattern completely."""
    return wrong_value(lambda value: not pattern.fullmatch(str(value)))


def one_of(*allowed: Any) -> Check:
    """Return the check of a field that has one of the values in `allowed`."""
    return wrong_value(lambda value: value not in allowed), f"write {either(map(str, allowed))}"


DNS_LABEL: Final[Check] = (
    not_matching(re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")),
    "write at most 63 lower-case letters, digits and dashes",
)


def outside(lowest: int, highest: int) -> Test:
    """Return a test that refuses an integer outside a range."""

    def test(field: Field) -> str:
        is_inside = not isinstance(field.value, int) or lowest <= field.value <= highest
        return "" if is_inside else f"{field.key} {field.value}"

    return test


def not_one_of_keys(noun: str, ignored: Sequence[str] = (), *, may_be_none: bool = False) -> Test:
    """Return a test that refuses a mapping with several keys, apart from the keys in `ignored`, or with none.

    Args:
        noun: the name of a key in messages, such as "source".
        ignored: the keys that do not count.
        may_be_none: whether the mapping may have no such key.
    """

    def test(field: Field) -> str:
        names = [key for key, value in field.value.items() if key not in ignored and value is not None]
        if len(names) > 1:
            return f"{len(names)} {noun}s ({either(names, 'and')})"
        return "" if names or may_be_none else f"no {noun}"

    return test


def without(*required: str) -> Test:
    """Return a test that refuses a mapping without one of the required keys."""

    def test(field: Field) -> str:
        missing = [key for key in required if not field.value.get(key)]
        name = f" {shown(field.value['name'])}" if field.value.get("name") else ""
        return f"an entry{name} without {either(missing, 'and')}" if missing else ""

    return test


def repeats(key: str) -> Test:
    """Return a test that refuses an item of a list whose value of `key` an earlier item of the list has."""

    def test(field: Field) -> str:
        earlier = (item.get(key) for item in field.parent()[: field.key])
        name = field.value.get(key)
        return f"a second entry with the {key} {shown(name)}" if name is not None and name in earlier else ""

    return test
