"""Objects under ``objects`` that have the same kind and name as a different object of the job."""

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
    owner_by_key = {_key(item): "an object that tfgen creates" for item in items if literal_name(item) is None}
    for item in items:
        name = literal_name(item)
        if name is None:
            continue
        owner = owner_by_key.setdefault(_key(item), f"objects.{name}")
        if owner != f"objects.{name}":
            message = (
                f"the {item['kind']} {item['metadata']['name']} has the same kind and name as {owner}; choose a "
                "different metadata.name"
            )
            yield Finding(("objects", name, "metadata", "name"), message)


def _key(item: Object) -> tuple[str, str, str]:
    """Return the API group without its version, the kind and the name of an object.

    Example: ``("apps", "Deployment", "web")``.
    """
    return group(item), item["kind"], item["metadata"]["name"]


RULES: Final = (Rule("object-name", "error", "Two objects of a job have the same kind and name.", _check),)
