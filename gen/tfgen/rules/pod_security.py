"""Fields of a user's containers and pod templates that the Pod Security Standard of the job refuses.

https://kubernetes.io/docs/concepts/security/pod-security-standards/, as of Kubernetes 1.36. The rule checks only the
fields that a user sets, because tfgen sets the missing fields (`objects.pod`). The rule `volume_profile` checks the
volumes, and a guard in `graph.guards` checks `security.runAsUser`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tfgen.data_path import Path
from tfgen.job.training_job import PROFILES, Profile
from tfgen.kubernetes.volume_profiles import strictest_profile
from tfgen.rules import pod_parts
from tfgen.rules.finding import Finding
from tfgen.rules.pod_parts import Part
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_ADDABLE: Final = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
"""Capabilities that a container may add under the profile baseline. The profile restricted allows only `_LOW_PORTS`."""
_LOW_PORTS: Final = "NET_BIND_SERVICE"
_SELINUX_TYPES: Final = (None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)


class WeakField(NamedTuple):
    """A field of a pod that the Pod Security profile restricted, or also the profile baseline, refuses.

    Attributes:
        path: the path of the field.
        profile: the strongest profile that allows the field.
        description: the field and the value of the field, as words for a message.
        fix: the fix, as words for a message. After the fix, a stronger profile allows the field.
    """

    path: Path
    profile: Profile
    description: str
    fix: str = "remove this entry"


def find_weak_fields(part: Part) -> Iterator[WeakField]:
    """Yield the fields of a pod spec, a container or a volume that need a profile weaker than restricted."""
    yield from _check_pod(part)
    if isinstance(part.data.get("image"), str) or isinstance(part.data.get("securityContext"), Mapping):
        yield from _check_container(part)
    for key in part.data if part.path[-2:-1] == ("volumes",) else ("hostPath",):
        if isinstance(part.data.get(key), Mapping):
            yield WeakField((*part.path, key), strictest_profile(key), f"the volume source {key}")


def _check(view: View) -> Iterator[Finding]:
    job_profile = view.job.structure.profile
    for field in _fields(view):
        if PROFILES.index(field.profile) > PROFILES.index(job_profile):
            message = (
                f"security.profile {job_profile} refuses {field.description}; {field.fix}, or set security.profile to "
                f"{field.profile}"
            )
            yield Finding(field.path, message)


def _fields(view: View) -> Iterator[WeakField]:
    for role in view.roles:
        for spec in pod_parts.template_specs(view, role.name):
            yield from _check_pod(spec)
        for container in pod_parts.extra_containers(view, role.name):
            yield from _check_container(container)
        for key in ("initContainers", "containers"):
            for container in pod_parts.template_items(view, role.name, key):
                if not pod_parts.is_delete_directive(container):
                    yield from _check_container(container)
    for spec in pod_parts.patch_specs(view):
        yield from _check_pod(spec)
        for key in ("initContainers", "containers"):
            for container in pod_parts.items(spec, key):
                if not pod_parts.is_delete_directive(container):
                    yield from _check_container(container)


def _check_pod(spec: Part) -> Iterator[WeakField]:
    for key in _HOST:
        if spec.data.get(key) is True:
            yield WeakField((*spec.path, key), "privileged", f"{key}: true")
    yield from _check_removed_context(spec)
    for context in pod_parts.child(spec, "securityContext"):
        yield from _check_context(context)
        for key in ("runAsNonRoot", "seccompProfile"):
            if key in context.data and context.data[key] is None:
                yield WeakField((*context.path, key), "baseline", f"{key}: null")
        for sysctl in pod_parts.items(context, "sysctls"):
            name = pod_parts.name(sysctl)
            if name and name not in _SYSCTLS:
                yield WeakField((*sysctl.path, "name"), "privileged", f"the sysctl {name}")


def _check_container(container: Part) -> Iterator[WeakField]:
    yield from _check_removed_context(container)
    for context in pod_parts.child(container, "securityContext"):
        yield from _check_context(context)
        if context.data.get("privileged") is True:
            yield WeakField((*context.path, "privileged"), "privileged", "privileged: true")
        if "allowPrivilegeEscalation" in context.data and context.data["allowPrivilegeEscalation"] is not False:
            path = (*context.path, "allowPrivilegeEscalation")
            yield WeakField(path, "baseline", "allowPrivilegeEscalation other than false")
        if context.data.get("procMount") not in (None, "Default"):
            yield WeakField((*context.path, "procMount"), "privileged", "a procMount other than Default")
        yield from _check_capabilities(context)
    for port in pod_parts.items(container, "ports"):
        if port.data.get("hostPort") not in (None, 0):
            yield WeakField((*port.path, "hostPort"), "privileged", "a hostPort")
    yield from _check_probes(container)


def _check_removed_context(part: Part) -> Iterator[WeakField]:
    if "securityContext" in part.data and part.data["securityContext"] is None:
        yield WeakField((*part.path, "securityContext"), "baseline", "securityContext: null")


def _check_context(context: Part) -> Iterator[WeakField]:
    """Yield the weak fields of a security context. Check only the fields that both pods and containers have."""
    if context.data.get("runAsNonRoot") is False:
        yield WeakField((*context.path, "runAsNonRoot"), "baseline", "runAsNonRoot: false")
    user = context.data.get("runAsUser")
    if user == 0 and user is not False:
        yield WeakField((*context.path, "runAsUser"), "baseline", "runAsUser: 0", "write a different user")
    for key in ("seccompProfile", "appArmorProfile"):
        for profile in pod_parts.child(context, key):
            if profile.data.get("type") == "Unconfined":
                yield WeakField((*profile.path, "type"), "privileged", f"an Unconfined {key}")
    for windows in pod_parts.child(context, "windowsOptions"):
        if windows.data.get("hostProcess") is True:
            yield WeakField((*windows.path, "hostProcess"), "privileged", "hostProcess: true")
    for labels in pod_parts.child(context, "seLinuxOptions"):
        if labels.data.get("type") not in _SELINUX_TYPES:
            yield WeakField((*labels.path, "type"), "privileged", f"the SELinux type {shown(labels.data['type'])}")
        for key in ("user", "role"):
            if labels.data.get(key):
                yield WeakField((*labels.path, key), "privileged", f"a {key} of SELinux")


def _check_capabilities(context: Part) -> Iterator[WeakField]:
    path, fields = (*context.path, "capabilities"), context.data
    if "capabilities" in fields and fields["capabilities"] is None:
        yield WeakField(path, "baseline", "capabilities that are not dropped", "write drop: [ALL]")
    for capabilities in pod_parts.child(context, "capabilities"):
        for index, name in enumerate(_list(capabilities.data, "add")):
            path = (*capabilities.path, "add", index)
            if not isinstance(name, str) or name not in _ADDABLE:
                yield WeakField(path, "privileged", f"the capability {shown(name)}")
            elif name != _LOW_PORTS:
                yield WeakField(path, "baseline", f"the capability {name}")
        if "drop" in capabilities.data and "ALL" not in _list(capabilities.data, "drop"):
            path = (*capabilities.path, "drop")
            yield WeakField(path, "baseline", "a container that does not drop ALL capabilities", "write drop: [ALL]")


def _check_probes(container: Part) -> Iterator[WeakField]:
    probes = [probe for key in _PROBES for probe in pod_parts.child(container, key)]
    for lifecycle in pod_parts.child(container, "lifecycle"):
        probes += [hook for key in ("postStart", "preStop") for hook in pod_parts.child(lifecycle, key)]
    for probe in probes:
        for key in ("httpGet", "tcpSocket"):
            for action in pod_parts.child(probe, key):
                if action.data.get("host"):
                    yield WeakField((*action.path, "host"), "privileged", "a host in a probe or lifecycle hook")


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    items = data.get(key)
    return items if isinstance(items, list) else []


RULES: Final = (
    Rule(
        "pod-security",
        "error",
        "A field of a container or a pod needs a weaker Pod Security profile than the profile of the job.",
        _check,
    ),
)
