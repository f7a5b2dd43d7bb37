"""Ports of jobs on which only the user root may listen.

Some container runtimes let every user listen on a low port. By default, containerd 1 lets only root listen
(enable_unprivileged_ports of https://github.com/containerd/containerd/blob/main/docs/cri/config.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.job.training_job import RoleName
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View

_FIRST: Final = 1024
"""The lowest port on which a user other than root may listen (ip_unprivileged_port_start of Linux)."""


def _check(view: View) -> Iterator[Finding]:
    port, user = view.job.structure.port, view.values["security"]["runAsUser"]
    if not view.job.structure.is_distributed or port >= _FIRST or user == 0:
        return
    if not all(_may_listen_on_low_ports(view, role.name) for role in view.roles):
        message = f"in some clusters, the user {user} may not listen on port {port}; choose port {_FIRST} or higher"
        yield Finding(view.reported_path(("port",), ("security", "runAsUser")), message)


def _may_listen_on_low_ports(view: View, role: RoleName) -> bool:
    """Return True if a podTemplate allows a role to listen on low ports.

    A sysctl, a capability or the user root can allow low ports.
    """
    contexts = [
        context
        for part in (*pod_parts.template_specs(view, role), *pod_parts.main_container(view, role))
        for context in pod_parts.child(part, "securityContext")
    ]
    sysctls = (item for context in contexts for item in pod_parts.items(context, "sysctls"))
    return (
        any(pod_parts.name(item) == "net.ipv4.ip_unprivileged_port_start" for item in sysctls)
        or any(context.data.get("runAsUser") == 0 for context in contexts)
        or any("NET_BIND_SERVICE" in str(context.data.get("capabilities")) for context in contexts)
    )


RULES: Final = (Rule("low-port", "warning", "The port of TensorFlow is below 1024, and the user is not root.", _check),)
