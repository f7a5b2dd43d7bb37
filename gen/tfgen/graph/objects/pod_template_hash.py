"""The hash of a pod template, as a label of its pods: why no run of a job comes to have pods of two kinds.

Kubernetes takes another template for a StatefulSet at any time, and makes the next pod that is lost from it. It never
takes another selector, and no template whose labels the selector does not match. So the hash stands in both, and
another template is refused as a whole, whatever applies it. A Job refuses one by itself; its hash is for Helm to see.
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-selector

The hash is of the template as it is filled, without this label. So whatever makes the same pods gives the same hash:
another tfgen, another version of the chart, another number of replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph.holes import Bound, Digest, Key, Let, Named, Node, Parameter, call, if_set
from tfgen.kubernetes import keys

HASH: Final = Bound("hash")
"""The hash, inside of an object that `hashed` makes."""

PARAMETER: Final = Parameter(HASH.name)
"""The hash, in a part that is a pod template; null where the template is the one to be hashed."""

LABEL: Final[Mapping[Key, Node]] = {keys.POD_TEMPLATE_HASH: if_set(PARAMETER)}
"""The last label of such a template."""


def hashed(pod: Named, arguments: Mapping[str, Node], workload: Callable[[Node], Node]) -> Let:
    """An object that makes pods, with `HASH` bound to the hash of their template.

    Args:
        pod: their template, a part with `LABEL` among its labels.
        arguments: those of the part, but for the hash.
        workload: makes the object, given the template with its hash.
    """
    doc = f"The hash of {pod.name}, a label of its pods. A StatefulSet has it in its selector too, which never changes."
    others = tuple(name for name in pod.parameters if name != PARAMETER.name)
    unhashed = call(pod, **{name: Parameter(name) for name in others}, hash=None)
    part = Named(f"{pod.name}Hash", doc, Digest(unhashed), file=pod.file, parameters=others)
    used = {name: arguments[name] for name in others}
    return Let(HASH.name, call(part, **used), workload(call(pod, **used, hash=HASH)))
