"""Tests a node of the object graph for properties that are the same at each place in a template.

is_map_or_list(Value("labels", "map"))  ->  True
is_constant(Value("image", "string"))   ->  False
"""

from __future__ import annotations

from tfgen.graph.holes import (
    Absent,
    Call,
    ChartOnly,
    File,
    Hole,
    MapOf,
    NamedTemplate,
    Node,
    Release,
    Value,
    cached_on_record,
    child_nodes,
    type_of,
)
from tfgen.record import Record
from tfgen.value_type import TREES


def is_map_or_list(node: Node) -> bool:
    """Test whether the output of a node is a mapping or a sequence. The node may be a hole or a named template."""
    return type_of(node) in TREES


def is_constant(node: Node) -> bool:
    """Test whether the output of a node does not depend on the values of the chart."""
    return not isinstance(node, Hole) or (isinstance(node, MapOf) and all(map(is_constant, node.entries.values())))


def has_holes(node: Node) -> bool:
    """Test whether a node of the object graph contains more than plain data, such as a hole, a comment or `ABSENT`."""
    match node:
        case Hole() | Absent():
            return True
        case dict():
            return any(not isinstance(key, str) or has_holes(child) for key, child in node.items())
        case str():
            return False
        case list() | tuple():
            return any(has_holes(child) for child in node)
    return False


@cached_on_record
def needs_root(node: Node | Record) -> bool:
    """Test whether a named template, or another node, uses the root context, for example ``.Values``."""
    match node:
        case Value() | Release() | File() | NamedTemplate(parameters=()):
            return True
        case ChartOnly():
            return node.reads_root
        case Call(called, arguments):
            return needs_root(called) or any(needs_root(argument) for _, argument in arguments)
    return any(map(needs_root, child_nodes(node)))
