"""A function that applies a change to each object in a template."""

from __future__ import annotations

from collections.abc import Callable

from tfgen.graph.holes import ForEach, Key, Let, Node, When


def change_objects(node: Node, change: Callable[[dict[Key, Node]], Node]) -> Node:
    """Apply a function to each object in a template's node, including objects inside `Let`, `When` and `ForEach`."""
    match node:
        case Let(name, expression, body):
            return Let(name, expression, change_objects(body, change))
        case When(test, if_true, if_false):
            return When(test, change_objects(if_true, change), change_objects(if_false, change))
        case ForEach():
            return node.replaced(body=change_objects(node.body, change))
        case dict():
            return change(node)
    return node
