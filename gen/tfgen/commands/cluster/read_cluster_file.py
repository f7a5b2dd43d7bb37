"""Read the objects of a cluster from a file: the output of `kubectl get nodes,pods --all-namespaces -o yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

import jsonschema_rs
import yaml

from tfgen.commands.cluster.cluster_shapes import SHAPES
from tfgen.errors import Position, Problem, UsageError, stop_at_errors
from tfgen.kubernetes.object import Object
from tfgen.scheduling.amounts import counts_of, counts_of_pod
from tfgen.text.document import MAX_DEPTH
from tfgen.text.yaml_syntax import TOO_DEEP

SYNTAX: Final = "yaml-syntax"
INVALID: Final = "cluster-object"

RULES: Final[Mapping[str, str]] = {INVALID: "An object of a cluster does not have the fields that Kubernetes requires."}
"""The description of each rule that `tfgen plan` reports about a file of cluster objects, by id of the rule."""

_TOO_DEEP: Final = f"the nesting is deeper than {MAX_DEPTH} levels"
_BROKEN: Final = (yaml.YAMLError, ValueError, RecursionError)
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Constructor(yaml.constructor.SafeConstructor):
    """YAML constructor that reads a timestamp as text, because the JSON output of kubectl has timestamps as text."""

    yaml_constructors: ClassVar[dict[Any, Any]] = {
        **yaml.constructor.SafeConstructor.yaml_constructors,
        _TIMESTAMP: yaml.constructor.SafeConstructor.construct_yaml_str,
    }


def read_cluster_file(file: Path) -> list[Object]:
    """Return the objects in a YAML or JSON file. A List is replaced by its items.

    The function accepts files of any size, because the objects of a thousand nodes need several megabytes.

    Raises:
        UsageError: the file cannot be read, or contains no node.
        ProblemsError: the file is not YAML, or an object is invalid.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file}: {error.strerror if isinstance(error, OSError) else 'the file is not UTF-8'}"
        ) from error
    objects: list[Object] = []
    problems: list[Problem] = []
    try:
        _check_depth(text)
        for node in _items(text):
            position = Position(node.start_mark.line + 1, node.start_mark.column + 1)
            item = _Constructor().construct_document(node)
            messages = [*_messages(item)]
            problems += (Problem(str(file), position, message, INVALID) for message in messages)
            if not messages:
                objects.append(item)
    except _BROKEN as error:
        mark = getattr(error, "problem_mark", None)
        position = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
        reason = getattr(error, "problem", None) or str(error)
        reason = _TOO_DEEP if reason == TOO_DEEP else reason
        problems.append(Problem(str(file), position, f"the text is not YAML: {reason}", SYNTAX))
    stop_at_errors(problems)
    if not any(item["kind"] == "Node" for item in objects):
        raise UsageError(
            f"{file}: the file contains no node; create the file with kubectl get nodes,pods --all-namespaces -o yaml"
        )
    return objects


def _check_depth(text: str) -> None:
    """Check the nesting depth of YAML text, because deep nesting can crash the recursive C code of PyYAML.

    Raises:
        YAMLError: the nesting is too deep, or the text is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                mark: Any = event.start_mark  # the mark of libyaml has the fields of a mark of PyYAML
                raise yaml.MarkedYAMLError(problem=_TOO_DEEP, problem_mark=mark)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _items(text: str) -> Iterator[Any]:
    """Yield the YAML node of each object. For a List, yield the YAML node of each item."""
    for root in yaml.compose_all(text, Loader=yaml.CSafeLoader):
        pairs = root.value if isinstance(root, yaml.MappingNode) else ()
        entries = {key.value: value for key, value in pairs if isinstance(key, yaml.ScalarNode)}
        kind, items = entries.get("kind"), entries.get("items")
        if kind is not None and str(kind.value).endswith("List") and isinstance(items, yaml.SequenceNode):
            yield from items.value
        elif root is not None:
            yield root


@cache
def _validator(kind: str) -> Any:
    """Return the JSON Schema validator for a kind. Validators are cached, because they are slow to create."""
    return jsonschema_rs.validator_for(dict(SHAPES[kind]))


def _messages(item: Any) -> Iterator[str]:
    """Yield the error messages for the cluster object `item`. An object of a kind without a schema is always valid."""
    if not isinstance(item, dict) or not isinstance(item.get("kind"), str):
        yield "this is not a Kubernetes object, because it has no kind"
        return
    if item["kind"] not in SHAPES:
        return
    title = item["kind"]
    is_valid = True
    for error in _validator(item["kind"]).iter_errors(item):
        is_valid = False
        yield f"{title}: {'.'.join(map(str, error.instance_path)) or 'the object'}: {error.message}"
    if not is_valid:
        return
    try:
        if item["kind"] == "Node":
            counts_of(item["status"]["allocatable"])
        elif item["kind"] == "Pod":
            counts_of_pod(item["spec"], item.get("status") or {})
        elif item["kind"] == "RuntimeClass":
            counts_of((item.get("overhead") or {}).get("podFixed") or {})
    except ValueError as error:
        yield f"{title} {item['metadata']['name']}: {error}"
