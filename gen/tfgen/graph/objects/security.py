"""The security contexts for the Pod Security Standard of a job.

https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from tfgen.graph.holes import Key, NamedTemplate, Node
from tfgen.graph.objects.values import value
from tfgen.job.training_job import Profile


def pod_context(profile: Profile) -> Node:
    """Return the security context of a pod for a profile, such as `restricted`."""
    identity: dict[Key, Node] = {
        "runAsUser": value("security.runAsUser"),
        "runAsGroup": value("security.runAsGroup"),
        "fsGroup": value("security.fsGroup"),
        # Kubernetes changes the owner of the files only once, because a model may have many files.
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    if profile == "privileged":
        return identity
    seccomp: dict[Key, Node] = {"seccompProfile": {"type": "RuntimeDefault"}}
    return {"runAsNonRoot": True, **identity, **seccomp} if profile == "restricted" else {**identity, **seccomp}


def container_context(profile: Profile) -> dict[Key, Node]:
    """Return the security context of a container for a profile, such as `restricted`."""
    root: dict[Key, Node] = {"readOnlyRootFilesystem": value("security.readOnlyRootFilesystem")}
    if profile != "restricted":
        return root
    return {"allowPrivilegeEscalation": False, **root, "capabilities": {"drop": ["ALL"]}}


def pod_context_template(profile: Profile) -> NamedTemplate:
    """Return the security context of a pod as a named template, which all pods of the chart share."""
    return NamedTemplate(
        "podSecurityContext", f"The security context of a pod, for the profile {profile}.", pod_context(profile)
    )


def container_context_template(profile: Profile) -> NamedTemplate:
    """Return the security context of a container as a named template, which all containers of the chart share."""
    doc = f"The security context of a container, for the profile {profile}."
    return NamedTemplate("containerSecurityContext", doc, container_context(profile))
