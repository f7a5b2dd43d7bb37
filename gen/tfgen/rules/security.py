"""Rules about the Pod Security profile of a job, and about secrets in its values."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tfgen.data_path import Path, known_part, texts
from tfgen.fix import Fix, Hint, assignment, hint, removal
from tfgen.graph.storage import SOURCES
from tfgen.kubernetes.pods import PROFILES, Profile, refuses, strictest_profile
from tfgen.rules import pod_parts
from tfgen.rules.pod_parts import PodPart
from tfgen.rules.rule import Finding, advise, rule
from tfgen.rules.view import View
from tfgen.schema import kubernetes_fields
from tfgen.schema.hints import find_secret_arguments, names_secret
from tfgen.words import find_credentials, has_credential, path_name, shown

# -- pod security ------------------------------------------------------------------------------------------------------
#
# Fields of a user's containers and pod templates that the Pod Security Standard of the job refuses.
#
# https://kubernetes.io/docs/concepts/security/pod-security-standards/, as of Kubernetes 1.36. The rule checks only the
# fields that a user sets, because tfgen sets the missing fields (`objects.pod`). The rule `volume_profile` checks the
# volumes, and a guard in `graph.guards` checks `security.runAsUser`.


_HOST: Final = ("hostNetwork", "hostPID", "hostIPC")
_PROBES: Final = ("startupProbe", "livenessProbe", "readinessProbe")
_HOOKS: Final = ("postStart", "preStop")
_ACTIONS: Final = ("httpGet", "tcpSocket")
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
        fix: the fix after which a stronger profile allows the field, or its words if the fix is no edit; empty to
            remove the field.
    """

    path: Path
    profile: Profile
    description: str
    fix: Fix | str = ""

    @property
    def hint(self) -> Hint:
        """Return the fix of the field, or the weaker profile as an alternative."""
        if isinstance(self.fix, str) and self.fix:
            return Hint(f"; {self.fix}, or {_weaker(self.profile).words}", (_weaker(self.profile),))
        is_name = self.path[-1] == "name"
        entry = self.fix or removal(self.path[:-1] if is_name else self.path, "this entry")
        return hint(entry, _weaker(self.profile))


def _weaker(profile: Profile, *, is_choice: bool = False) -> Fix:
    path = ("security", "profile")
    return assignment(path, profile, f"set security.profile to {profile}", is_choice=is_choice)


def find_weak_fields(part: PodPart) -> Iterator[WeakField]:
    """Yield the fields of a pod spec, a container or a volume that need a profile weaker than restricted."""
    yield from _check_pod(part)
    if isinstance(part.data.get("image"), str) or isinstance(part.data.get("securityContext"), Mapping):
        yield from _check_container(part)
    for key in part.data if part.path[-2:-1] == ("volumes",) else ("hostPath",):
        if isinstance(part.data.get(key), Mapping):
            yield WeakField((*part.path, key), strictest_profile(key), f"the volume source {key}")


@rule(
    "pod-security",
    "error",
    "A field of a container or a pod needs a weaker Pod Security profile than the profile of the job.",
)
def pod_security(view: View) -> Iterator[Finding]:
    job_profile = view.job.structure.profile
    for field in _fields(view):
        if PROFILES.index(field.profile) > PROFILES.index(job_profile):
            message = f"security.profile {job_profile} refuses {field.description}"
            yield advise(field.path, message, field.hint)


def _fields(view: View) -> Iterator[WeakField]:
    for role in view.roles:
        for spec in pod_parts.template_specs(view, role.name):
            yield from _check_spec(spec)
        for container in pod_parts.extra_containers(view, role.name):
            yield from _check_container(container)
    for spec in pod_parts.patch_specs(view):
        yield from _check_spec(spec)


def _check_spec(spec: PodPart) -> Iterator[WeakField]:
    yield from _check_pod(spec)
    for container in (*pod_parts.items(spec, "initContainers"), *pod_parts.items(spec, "containers")):
        if not pod_parts.is_delete_directive(container):
            yield from _check_container(container)


def _check_pod(spec: PodPart) -> Iterator[WeakField]:
    yield from (
        WeakField((*spec.path, key), "privileged", f"{key}: true") for key in _HOST if spec.data.get(key) is True
    )
    yield from _nulls(spec, "securityContext")
    for context in pod_parts.child(spec, "securityContext"):
        yield from _check_context(context)
        yield from _nulls(context, "runAsNonRoot", "seccompProfile")
        for sysctl in pod_parts.items(context, "sysctls"):
            name = pod_parts.name(sysctl)
            if name and name not in _SYSCTLS:
                yield WeakField((*sysctl.path, "name"), "privileged", f"the sysctl {name}")


def _nulls(part: PodPart, *keys: str) -> Iterator[WeakField]:
    for key in keys:
        if part.data.get(key, "") is None:
            yield WeakField((*part.path, key), "baseline", f"{key}: null")


def _check_container(container: PodPart) -> Iterator[WeakField]:
    yield from _nulls(container, "securityContext")
    for context in pod_parts.child(container, "securityContext"):
        yield from _check_context(context)
        if context.data.get("privileged") is True:
            yield WeakField((*context.path, "privileged"), "privileged", "privileged: true")
        if context.data.get("allowPrivilegeEscalation", False) is not False:
            path = (*context.path, "allowPrivilegeEscalation")
            yield WeakField(path, "baseline", "allowPrivilegeEscalation other than false")
        if context.data.get("procMount") not in (None, "Default"):
            yield WeakField((*context.path, "procMount"), "privileged", "a procMount other than Default")
        yield from _check_capabilities(context)
    for port in pod_parts.items(container, "ports"):
        if port.data.get("hostPort") not in (None, 0):
            yield WeakField((*port.path, "hostPort"), "privileged", "a hostPort")
    yield from _check_probes(container)


def _check_context(context: PodPart) -> Iterator[WeakField]:
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


def _check_capabilities(context: PodPart) -> Iterator[WeakField]:
    path, fields = (*context.path, "capabilities"), context.data
    if fields.get("capabilities", "") is None:
        fix = assignment(path, {"drop": ["ALL"]}, "write drop: [ALL]")
        yield WeakField(path, "baseline", "capabilities that are not dropped", fix)
    for capabilities in pod_parts.child(context, "capabilities"):
        for index, name in enumerate(_list(capabilities.data, "add")):
            path = (*capabilities.path, "add", index)
            if not isinstance(name, str) or name not in _ADDABLE:
                yield WeakField(path, "privileged", f"the capability {shown(name)}")
            elif name != _LOW_PORTS:
                yield WeakField(path, "baseline", f"the capability {name}")
        if "drop" in capabilities.data and "ALL" not in _list(capabilities.data, "drop"):
            path = (*capabilities.path, "drop")
            fix = assignment(path, ["ALL"], "write drop: [ALL]")
            yield WeakField(path, "baseline", "a container that does not drop ALL capabilities", fix)


def _check_probes(container: PodPart) -> Iterator[WeakField]:
    parts = [(container, _PROBES), *((part, _HOOKS) for part in pod_parts.child(container, "lifecycle"))]
    probes = [probe for part, keys in parts for key in keys for probe in pod_parts.child(part, key)]
    for action in (action for probe in probes for key in _ACTIONS for action in pod_parts.child(probe, key)):
        if action.data.get("host"):
            yield WeakField((*action.path, "host"), "privileged", "a host in a probe or lifecycle hook")


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    items = data.get(key)
    return items if isinstance(items, list) else []


# -- volume profile ----------------------------------------------------------------------------------------------------
#
# Volumes that the Pod Security Standard of the job refuses, in `storage`, in `podTemplate` and in patches.


@rule("volume-profile", "error", "A volume needs a weaker Pod Security profile than the profile of the job.")
def volume_profile(view: View) -> Iterator[Finding]:
    profile = view.job.structure.profile
    for name, storage in view.values["storage"].items():
        for source in SOURCES:
            if source in storage and refuses(profile, source):
                yield _refused_volume(("storage", name, source), ("storage", name), profile)
    volumes = [part for role in view.roles for part in pod_parts.template_items(view, role.name, "volumes")]
    volumes += [part for spec in pod_parts.patch_specs(view) for part in pod_parts.items(spec, "volumes")]
    for volume in volumes:
        for key, value in volume.data.items():
            is_source = key != "name" and not key.startswith("$") and not kubernetes_fields.is_misspelt(key, "Volume")
            if is_source and value is not None and refuses(profile, key):
                yield _refused_volume((*volume.path, key), volume.path, profile)


def _refused_volume(path: Path, volume: Path, profile: Profile) -> Finding:
    source = str(path[-1])
    replacement = "an emptyDir or a claim" if source == "hostPath" else "a claim or a CSI volume"
    minimum = strictest_profile(source)
    message = f"{path_name(volume)}: security.profile {profile} forbids {source} volumes, which need at least {minimum}"
    weaker = _weaker(minimum, is_choice=True)
    return advise(path, message, Hint(f"; use {replacement}, or {weaker.words}", (weaker,)))


# -- secrets -----------------------------------------------------------------------------------------------------------
#
# Credentials and other secrets in the text of a job, which would be committed to git.
#
# A message never contains the value of the secret.


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Pattern of the boundary between words in a camel case name, such as akSecret, an option of a storage driver."""

_SECRET_DATA: Final = ("data", "stringData")

_REFERENCE: Final = {"flexVolume": "secretRef", "csi": "nodePublishSecretRef"}


@rule("credential", "error", "A text of the job contains a credential.", is_soft=True)
def credential(view: View) -> Iterator[Finding]:
    variant = {key: value for key, value in view.variant_data.items() if key != "environments"}
    for path, value in texts(known_part(variant)[0]):
        is_of_secret = path[0] == "objects" and view.values["objects"][path[1]]["kind"] == "Secret"
        text = _decoded(value) if is_of_secret and path[2] == "data" else value
        for kind, line in find_credentials(text):
            place = f"line {line} of {path_name(path)}" if "\n" in text.strip() else path_name(path)
            yield Finding(path, f"{place} contains {kind}, and git would store it; {_cure(path, is_of_secret)}")


def _decoded(text: str) -> str:
    """Return the text that a value of a Secret's `data` encodes in base64; the value itself if it is not base64."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except ValueError:
        return text


def _cure(path: Path, is_of_secret: bool) -> str:
    match path:
        case ("objects", *_):
            others = ", or write an ExternalSecret or a SealedSecret" if is_of_secret else ""
            return f"create {'the' if is_of_secret else 'a'} Secret in the cluster{others}"
        case (*_, "env", str()):
            return "create a Secret, and write secretKeyRef: {name: ..., key: ...}"
        case (*_, "env", int(), "value"):
            return "create a Secret, and replace value by valueFrom: {secretKeyRef: {name: ..., key: ...}}"
        case ("storage", _, ("flexVolume" | "csi") as source, *_):
            return f"create a Secret, and write its name in {_REFERENCE[source]} of the volume"
        case (*_, ("args" | "command"), int()) | ("code", "configMap", *_):
            return "create a Secret, and pass a variable with secretKeyRef"
        case _:
            return "remove it, and create a Secret for the programs that need it"


@rule("plaintext-secret", "warning", "A value of the job looks like a secret.")
def plaintext_secret(view: View) -> Iterator[Finding]:
    for path, name, value in _variables(view):
        if isinstance(value, str) and names_secret(name, value) and not has_credential(value):
            message = (
                f"the name of the variable {name} looks like a secret, and git would store the secret; create a "
                "Secret, and write secretKeyRef: {name: ..., key: ...}"
            )
            yield Finding(path, message)
    for path, name, value in _options(view):
        if names_secret(_HUMP.sub("-", name), value) and not has_credential(value):
            message = (
                f"{path_name(path)} looks like a secret, and git would store the secret; create a Secret, and write "
                f"its name in {_REFERENCE[str(path[2])]} of the volume"
            )
            yield Finding(path, message)
    for path, arguments in _arguments(view):
        for index in find_secret_arguments(arguments):
            if not has_credential(arguments[index]):
                message = (
                    "this argument looks like a secret, and git would store the secret; pass a variable with "
                    "secretKeyRef"
                )
                yield Finding((*path, index), message)
    for name, item in view.values["objects"].items():
        fields = [field for field in _SECRET_DATA if item["kind"] == "Secret" and item.get(field)]
        values = [_decoded(text) if field == "data" else text for field in fields for _, text in texts(item[field])]
        if fields and not any(map(has_credential, values)):
            message = (
                f"{path_name(('objects', name, fields[0]))}: git would store the values of the Secret; create the "
                "Secret in the cluster, or write an ExternalSecret or a SealedSecret"
            )
            yield Finding(("objects", name, fields[0]), message)


def _variables(view: View) -> Iterator[tuple[Path, str, Any]]:
    yield from ((("env", name), name, value) for name, value in view.values["env"].items())
    for role in view.roles:
        role_env = view.values["roles"][role.name].get("env", {})
        yield from ((("roles", role.name, "env", name), name, value) for name, value in role_env.items())
        for container in pod_parts.all_containers(view, role.name):
            for item in pod_parts.items(container, "env"):
                yield (*item.path, "value"), pod_parts.name(item), item.data.get("value")


def _options(view: View) -> Iterator[tuple[Path, str, str]]:
    """Yield the path, the name and the value of each option that a volume passes to a storage driver."""
    for volume, source_fields in view.values["storage"].items():
        for source, field in (("flexVolume", "options"), ("csi", "volumeAttributes")):
            for name, value in source_fields.get(source, {}).get(field, {}).items():
                yield ("storage", volume, source, field, name), name, value


def _arguments(view: View) -> Iterator[tuple[Path, Sequence[Any]]]:
    """Yield the path and the words of each command, and of each list of arguments, in the containers of all roles."""
    for role in view.roles:
        yield from (view.effective_field(role.name, field) for field in ("command", "args"))
        for container in pod_parts.all_containers(view, role.name):
            for field in ("command", "args"):
                if isinstance(container.data.get(field), list):
                    yield (*container.path, field), container.data[field]
