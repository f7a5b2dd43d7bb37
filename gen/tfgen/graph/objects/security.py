"""Security contexts, by the Pod Security Standard that the job's pods are to meet.

https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from tfgen.graph.holes import Key, Named, Node
from tfgen.graph.objects.values import value
from tfgen.job.training_job import Profile


def pod_context(profile: Profile) -> Node:
    """The pod's security context."""
    identity: dict[Key, Node] = {
        "runAsUser": value("security.runAsUser"),
        "runAsGroup": value("security.runAsGroup"),
        "fsGroup": value("security.fsGroup"),
        # A model of many files is not to be walked at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    if profile == "privileged":
        return identity
    seccomp: dict[Key, Node] = {"seccompProfile": {"type": "RuntimeDefault"}}
    return {"runAsNonRoot": True, **identity, **seccomp} if profile == "restricted" else {**identity, **seccomp}


def container_context(profile: Profile) -> dict[Key, Node]:
    """A container's security context."""
    root: dict[Key, Node] = {"readOnlyRootFilesystem": value("security.readOnlyRootFilesystem")}
    if profile != "restricted":
        return root
    return {"allowPrivilegeEscalation": False, **root, "capabilities": {"drop": ["ALL"]}}


def pod_part(profile: Profile) -> Named:
    """The same as a part of the chart, for every pod."""
    return Named(
        "podSecurityContext", f"The security context of a pod, for the profile {profile}.", pod_context(profile)
    )


def container_part(profile: Profile) -> Named:
    """A container's as a part of the chart, for every container."""
    doc = f"The security context of a container, for the profile {profile}."
    return Named("containerSecurityContext", doc, container_context(profile))
