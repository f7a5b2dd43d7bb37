"""Objects that stand in the job as they are, under a name that another object has where they are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.graph.graph import graph, objects
from tfgen.kubernetes.object import Object, group, literal_name
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.rules.wrong_shape import has_objects


def _check(view: View) -> Iterator[Finding]:
    if not view.values["objects"] or not has_objects(view):
        return
    items = objects(graph(view.job.structure), view.scope).values()
    taken = {_key(item): "one that tfgen makes" for item in items if literal_name(item) is None}
    for item in items:
        name = literal_name(item)
        if name is None:
            continue
        other = taken.setdefault(_key(item), f"objects.{name}")
        if other != f"objects.{name}":
            message = f"the {item['kind']} {item['metadata']['name']} has the name of {other}; choose another"
            yield Finding(("objects", name, "metadata", "name"), message)


def _key(item: Object) -> tuple[str, str, str]:
    """What a cluster tells objects of a namespace apart by, whatever the version of their group."""
    return group(item), item["kind"], item["metadata"]["name"]


RULES: Final = (Rule("object-name", "error", "Two objects of a job have one kind and one name.", _check),)
