"""The hash of a pod template, as a label of its pods: why no run of a job comes to have pods of two kinds.

Kubernetes takes another template for a StatefulSet at any time, and makes the next pod that is lost from it. It never
takes another selector, and no template whose labels the selector does not match. So the hash stands in both, and
another template is refused as a whole, whatever applies it. A Job refuses one by itself; its hash is for Helm to see.
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-selector

The hash is of the template as it is filled, without this label. So whatever makes the same pods gives the same hash:
another tfgen, another version of the chart, another number of replicas.
"""

from __future__ import annotations

from typing import Final

from tfgen.graph.holes import Bound, Digest, Let, Named, Node, NotEmpty, Overlaid
from tfgen.kubernetes import keys

HASH: Final = Bound("hash")
"""The hash, inside of an object around which `hashed` stands."""


def hashed(pod: Named, workload: Node) -> Let:
    """An object that makes pods, with `HASH` bound to the hash of their template."""
    doc = f"The hash of {pod.name}. Kubernetes changes no selector, so a StatefulSet that has it there keeps its pods."
    return Let(HASH.name, Named(f"{pod.name}Hash", doc, Digest(pod), file=pod.file), workload)


def labelled(pod: Named) -> NotEmpty:
    """A pod template with `HASH` among its labels."""
    return NotEmpty(Overlaid(pod, {"metadata": {"labels": {keys.POD_TEMPLATE_HASH: HASH}}}))
