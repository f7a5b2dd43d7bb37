"""The hash of a pod template, as a label of the pods. The label ensures that all pods of a run have the same template.

Kubernetes accepts a new pod template for a StatefulSet at any time, and creates replacement pods from the new template.
Kubernetes rejects a new selector, and a template with labels that the selector does not match. So the selector and the
template contain the hash, and Kubernetes rejects a new template. Kubernetes always rejects a new template of a Job. The
hash of a Job is for the check that the chart makes before an upgrade.
https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#pod-selector

The hash is the digest of the filled template without the label. A change that produces equal pods, such as a new
version of tfgen or a new number of replicas, produces an equal hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tfgen.graph.holes import Bound, Comment, Digest, Key, Let, NamedTemplate, Node, Parameter, call, if_set
from tfgen.kubernetes import keys

HASH: Final = Bound("hash")
"""The name of the hash in an object that the function `hashed` returns. The function binds the name to the hash."""

PARAMETER: Final = Parameter(HASH.name)
"""The parameter that passes the hash to a pod template. When tfgen computes the hash, the parameter is null."""

LABEL: Final[Mapping[Key, Node]] = {
    Comment("The hash of this pod template. A change of the template needs a new run."): None,
    keys.POD_TEMPLATE_HASH: if_set(PARAMETER),
}
"""The label with the hash, as the last label of a pod template."""


def hashed(pod: NamedTemplate, arguments: Mapping[str, Node], workload: Callable[[Node], Node]) -> Let:
    """Return a workload object whose pod template has the hash of the template as a label.

    The result computes the hash once. `HASH` is the hole with the hash.

    Args:
        pod: the pod template, as a named template whose labels include `LABEL`, the label with the hash.
        arguments: the arguments for all parameters of `pod` except the hash, by the name of the parameter.
        workload: a function that takes the pod template with the hash, and returns the workload object. The object may
            contain `HASH`, for example in a selector.
    """
    doc = f"The hash of {pod.name}, for a label of the pods and for the immutable selector of a StatefulSet."
    parameters = tuple(name for name in pod.parameters if name != PARAMETER.name)
    unhashed = call(pod, **{name: Parameter(name) for name in parameters}, hash=None)
    template = NamedTemplate(f"{pod.name}Hash", doc, Digest(unhashed), file=pod.file, parameters=parameters)
    used = {name: arguments[name] for name in parameters}
    return Let(HASH.name, call(template, **used), workload(call(pod, **used, hash=HASH)))
