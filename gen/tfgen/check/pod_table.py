"""The rules for single fields of the containers, the volumes and the specs of pods.

The comment above a row, or above several rows, names the source of the rules. A source without an address is a function
of Kubernetes 1.36, in pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.check.object_rules import (
    CONTAINER,
    DATA_KEY,
    DATA_KEY_FIX,
    DNS_LABEL,
    OBJECT_REFUSED,
    Field,
    Row,
    Test,
    exists,
    generated,
    not_matching,
    not_one_of_keys,
    one_of,
    outside,
    refused,
    repeats,
    without,
    wrong_value,
)
from tfgen.graph.podspec import IS_GPU
from tfgen.job.training_job import ROLE_NAMES
from tfgen.kubernetes import keys, quantity
from tfgen.words import shown


def _in_container(path: str, test: Test, fix: str) -> Row:
    return refused(f"{CONTAINER}.{path}", test, fix)


def _in_volume(path: str, test: Test, fix: str) -> Row:
    return refused(f"pod.volumes.*{path}", test, fix)


# -- containers ----------------------------------------------------------------------------------------------------

_PROBES: Final = "readinessProbe|livenessProbe|startupProbe"
_PROBE_TIMES: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
    "terminationGracePeriodSeconds",
)
_FIELDS_OF_ENV: Final = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['.+'\])|spec\.(nodeName|serviceAccountName)"
    r"|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_RESOURCE: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_PORT_NAME: Final = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_BYTE_UNITS: Final = ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def _is_in_init_container(field: Field) -> str:
    is_sidecar = field.parent().get("restartPolicy") == "Always"
    return "" if is_sidecar else "a probe or lifecycle of an init container that is no sidecar"


def _is_wrong_divisor(field: Field) -> str:
    is_cpu = str(field.parent().get("resource", "")).endswith(".cpu")
    units = ("1", "1m") if is_cpu else (f"1{unit}" for unit in _BYTE_UNITS)
    divisor = quantity.parse(field.value) if quantity.is_quantity(field.value) else None
    return "" if divisor in (0, *map(quantity.parse, units)) else f"divisor {shown(field.value)}"


_DIVISOR: Final = (_is_wrong_divisor, "write 1 or 1m for cpu, or a unit such as 1Mi for memory")

_CONTAINERS: Final = (
    # validateContainerCommon
    refused(CONTAINER, without("name", "image"), "set both keys"),
    # validateInitContainers
    refused(
        f"pod.initContainers.*.{_PROBES}|lifecycle",
        _is_in_init_container,
        "remove the key, or move the container to sidecars",
    ),
    # ValidatePodTemplateSpec
    refused(
        "pod.ephemeralContainers",
        exists("an ephemeral container in a new pod"),
        "remove the key, and use kubectl debug",
    ),
    # validateHandler
    _in_container(_PROBES, not_one_of_keys("handler", _PROBE_TIMES), "write exec, httpGet, tcpSocket or grpc"),
    _in_container("lifecycle.postStart|preStop", not_one_of_keys("handler"), "write exec, httpGet, tcpSocket or sleep"),
    # validateLivenessProbe
    _in_container("livenessProbe|startupProbe.successThreshold", *one_of(1)),
    # validatePullPolicy
    _in_container("imagePullPolicy", *one_of("Always", "IfNotPresent", "Never")),
    # validateContainerCommon
    _in_container("terminationMessagePolicy", *one_of("File", "FallbackToLogsOnError")),
    # validateContainerPorts
    _in_container("ports.*.containerPort|hostPort", outside(0, 65535), "write a port from 1 to 65535"),
    _in_container(
        "ports.*.name",
        not_matching(_PORT_NAME),
        "write at most 15 lower-case letters, digits and dashes, with a letter",
    ),
    _in_container("ports.*.protocol", *one_of("TCP", "UDP", "SCTP")),
    # validateEnvVarValueFrom
    _in_container("env.*.valueFrom", not_one_of_keys("source"), "write one source"),
    # validateObjectFieldSelector
    _in_container(
        "env.*.valueFrom.fieldRef.fieldPath",
        not_matching(_FIELDS_OF_ENV),
        "write a field such as metadata.name, metadata.labels['KEY'], spec.nodeName or status.podIP",
    ),
    # validateContainerResourceFieldSelector
    _in_container(
        "env.*.valueFrom.resourceFieldRef.resource",
        not_matching(_RESOURCE),
        "write limits or requests of cpu, memory, ephemeral-storage or huge pages",
    ),
    # validateContainerResourceDivisor
    _in_container("env.*.valueFrom.resourceFieldRef.divisor", *_DIVISOR),
    # validateSecretKeySelector
    _in_container("env.*.valueFrom.configMapKeyRef|secretKeyRef.key", not_matching(DATA_KEY), DATA_KEY_FIX),
)


# -- volumes -------------------------------------------------------------------------------------------------------

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*"
_CSI_DRIVER: Final = re.compile(rf"(?=.{{1,63}}$)(?i:{_SUBDOMAIN})")
_FIELDS_OF_FILES: Final = re.compile(r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['.+'\])")
_HOST_PATH_TYPES: Final = (
    *("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File"),
    *("Socket", "CharDevice", "BlockDevice"),
)
_PROC_FILES: Final = (
    *("/proc/cpuinfo", "/proc/diskstats", "/proc/loadavg", "/proc/meminfo", "/proc/net/dev", "/proc/slabinfo"),
    *("/proc/stat", "/proc/swaps", "/proc/sys/crypto/fips_enabled", "/proc/sys/kernel/ns_last_pid", "/proc/uptime"),
)
"""Files below /proc that runc lets a volume replace, as an emulation of the file."""


def _has_backsteps(path: Any) -> bool:
    return ".." in str(path).split("/")


_FILE_NAME: Final = (
    wrong_value(lambda path: str(path).startswith(("/", "..")) or _has_backsteps(path)),
    "write a relative path without ..",
)
_MODE: Final = (outside(0, 0o777), "write a mode from 0 to 0o777")


def _repeats_projected_path(field: Field) -> str:
    earlier = [path for source in field.parent()[: field.key] for path in _projected_paths(source)]
    for path in _projected_paths(field.value):
        if path in earlier:
            return f"a second file {shown(path)}"
        earlier.append(path)
    return ""


def _projected_paths(source: Mapping[str, Any]) -> Iterator[str]:
    for part in ("secret", "configMap", "downwardAPI"):
        yield from (item["path"] for item in (source.get(part) or {}).get("items") or () if item.get("path"))
    if (path := (source.get("clusterTrustBundle") or {}).get("path")) is not None:
        yield path


def _is_not_in_pod(field: Field) -> str:
    claims = data_path.at(field.owner, ("spec", "volumeClaimTemplates")) or ()
    names = [volume["name"] for volume in field.spec.get("volumes") or ()]
    names += [claim["metadata"]["name"] for claim in claims]
    return "" if field.value in names else f"the volume {shown(field.value)} that the pod does not have"


def _is_no_claim_of_pod(field: Field) -> str:
    names = [claim["name"] for claim in field.spec.get("resourceClaims") or ()]
    return "" if field.value in names else f"the claim {shown(field.value)} that the pod does not have"


def _shares_namespace_of_node(field: Field) -> str:
    shared = next((key for key in ("hostNetwork", "hostPID", "hostIPC") if field.spec.get(key)), "")
    return f"hostUsers: false with {shared}: true" if field.value is False and shared else ""


def _has_two_sub_paths(field: Field) -> str:
    return "both subPath and subPathExpr" if field.value.get("subPath") and field.value.get("subPathExpr") else ""


def _is_below_proc(field: Field) -> str:
    path = posixpath.normpath(str(field.value))
    is_below = path.startswith("/proc/") or path == "/proc"
    return f"the mount path {shown(field.value)}" if is_below and path not in _PROC_FILES else ""


_VOLUMES: Final = (
    # validateVolumeSource
    _in_volume("", not_one_of_keys("source", ("name",), may_be_none=True), "split the volume, or remove one source"),
    # ValidateVolumes
    _in_volume(".name", *DNS_LABEL),
    # validateProjectionSources
    _in_volume(".projected.sources.*", not_one_of_keys("source", may_be_none=True), "write one source in each entry"),
    _in_volume(".projected.sources.*", _repeats_projected_path, "write a different path"),
    _in_volume(
        ".projected.sources.*.serviceAccountToken.expirationSeconds", outside(600, 1 << 32), "write 600 or more"
    ),
    *(
        # ValidateLocalNonReservedPath
        _in_volume(path, *_FILE_NAME)
        for path in (
            ".projected.sources.*.serviceAccountToken|clusterTrustBundle.path",
            ".projected.sources.*.secret|configMap|downwardAPI.items.*.path",
            ".secret|configMap|downwardAPI.items.*.path",
        )
    ),
    # validateSecretVolumeSource
    _in_volume(".secret|configMap|downwardAPI|projected.defaultMode", *_MODE),
    # validateKeyToPath
    _in_volume(".secret|configMap|downwardAPI.items.*.mode", *_MODE),
    # validateDownwardAPIVolumeFile
    _in_volume(
        ".downwardAPI.items.*.fieldRef.fieldPath",
        not_matching(_FIELDS_OF_FILES),
        "write a field such as metadata.labels",
    ),
    # validateContainerResourceDivisor
    _in_volume(".downwardAPI.items.*.resourceFieldRef.divisor", *_DIVISOR),
    # ValidateCSIDriverName
    _in_volume(".csi.driver", not_matching(_CSI_DRIVER), "write a DNS name such as secrets-store.csi.k8s.io"),
    # validatePathNoBacksteps
    _in_volume(".hostPath.path", wrong_value(_has_backsteps), "write a path without .."),
    # validateHostPathType
    _in_volume(
        ".hostPath.type", wrong_value(lambda name: name not in _HOST_PATH_TYPES), "write a type such as Directory"
    ),
    # ValidateVolumeMounts
    Row(
        "unknown-volume",
        f"{CONTAINER}.volumeMounts|volumeDevices.*.name",
        _is_not_in_pod,
        "declare the volume in storage, or add the role to storage.NAME.for",
    ),
    _in_container("volumeMounts.*", repeats("mountPath"), "write a different mountPath"),
    # validatePodResourceClaims and validateContainerResourceClaims
    _in_container("resources.claims.*.name", _is_no_claim_of_pod, "remove the claim, or add it to resourceClaims"),
    refused("pod.resourceClaims.*", repeats("name"), "write a different name"),
    # validateHostUsers
    Row(
        OBJECT_REFUSED,
        "pod.hostUsers",
        _shares_namespace_of_node,
        "remove one of the two fields",
        job_key="security.hostUsers",
    ),
    _in_container("volumeMounts.*", _has_two_sub_paths, "remove one of the keys"),
    # validateLocalDescendingPath
    _in_container(
        "volumeMounts.*.subPath|subPathExpr",
        wrong_value(lambda path: str(path).startswith("/") or _has_backsteps(path)),
        "write a relative path without ..",
    ),
    # validateMountPropagation
    _in_container("volumeMounts.*.mountPropagation", *one_of("None", "HostToContainer", "Bidirectional")),
    # checkProcMount of libcontainer/rootfs_linux.go in https://github.com/opencontainers/runc
    refused(
        f"{CONTAINER}.volumeMounts.*.mountPath",
        _is_below_proc,
        "mount the volume at a path outside /proc",
        "the container runtime",
    ),
    # https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/
    Row(
        "object-schema",
        "pod.volumes.*.image",
        exists("an image as a volume"),
        "use a claim, a csi volume or spec.code",
        until=(1, 35),
    ),
    Row(
        "object-schema",
        "pod.resourceClaims",
        exists("a claim for devices"),
        "request the resource of a device plugin, with gpu.resource",
        until=(1, 34),
    ),
)


# -- pods ----------------------------------------------------------------------------------------------------------

_LINUX_ONLY: Final = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    *("runAsUser", "runAsGroup", "supplementalGroups", "capabilities", "readOnlyRootFilesystem", "privileged"),
    *("allowPrivilegeEscalation", "procMount"),
)
_FIRST_PORT: Final = 1024
"""The lowest port on which a user other than root may listen (ip_unprivileged_port_start of Linux)."""


def _has_no_nameserver(field: Field) -> str:
    has_servers = (field.spec.get("dnsConfig") or {}).get("nameservers")
    return "dnsPolicy None without dnsConfig.nameservers" if field.value == "None" and not has_servers else ""


def _has_linux_fields(field: Field) -> str:
    containers = [*(field.spec.get("initContainers") or ()), *(field.spec.get("containers") or ())]
    contexts = [part.get("securityContext") or {} for part in (field.spec, *containers)]
    linux = [key for context in contexts for key in _LINUX_ONLY if context.get(key) is not None]
    return f"windows in a pod with {linux[0]}" if field.value == "windows" and linux else ""


def _resolves_no_hosts(field: Field) -> str:
    if field.pods is None or field.pods.labels.get(keys.ROLE) not in ROLE_NAMES:
        return ""
    is_on_host = field.key == "hostNetwork" and field.value and field.spec.get("dnsPolicy") in (None, "ClusterFirst")
    if field.value != "Default" and not is_on_host:
        return ""
    cause = "hostNetwork with dnsPolicy ClusterFirst" if is_on_host else "dnsPolicy Default"
    return f"{cause} lets the pod resolve no host of TF_CONFIG"


def _keeps_pod_running(field: Field) -> str:
    kind = field.owner["kind"]
    if kind in ("StatefulSet", "Deployment", "DaemonSet", "ReplicaSet") or field.key == 0:
        return ""
    return f"the {kind} does not end while the container {shown(field.value.get('name'))} runs"


def _has_port_of_main_container(field: Field) -> str:
    """Refuse a port of a container that the main container of the pod uses. The containers of a pod run together."""
    main, container = field.spec["containers"][0], field.parent(2)
    if container is main or ("initContainers" in field.path and container.get("restartPolicy") != "Always"):
        return ""
    used = {(port.get("containerPort"), port.get("protocol", "TCP")) for port in main.get("ports") or ()}
    port = (field.value.get("containerPort"), field.value.get("protocol", "TCP"))
    return f"the container {main.get('name')} of the same pod listens on port {port[0]}" if port in used else ""


def _needs_root(field: Field) -> str:
    pod, container = field.spec.get("securityContext") or {}, field.parent(3).get("securityContext") or {}
    user = container.get("runAsUser", pod.get("runAsUser"))
    is_allowed = any(item.get("name") == "net.ipv4.ip_unprivileged_port_start" for item in pod.get("sysctls") or ())
    is_allowed = is_allowed or "NET_BIND_SERVICE" in ((container.get("capabilities") or {}).get("add") or ())
    if field.value >= _FIRST_PORT or not user or is_allowed:
        return ""
    return f"in some clusters, the user {user} may not listen on port {field.value}"


def _is_larger_than_memory(field: Field) -> str:
    """Report a memory volume that is larger than the memory limit of a container that mounts the volume."""
    name = field.parent(2).get("name")
    if field.parent().get("medium") != "Memory":
        return ""
    for container in field.spec["containers"]:
        memory = ((container.get("resources") or {}).get("limits") or {}).get("memory")
        is_mounted = any(mount.get("name") == name for mount in container.get("volumeMounts") or ())
        if is_mounted and memory and quantity.parse(field.value) > quantity.parse(memory):
            limit = f"the memory limit {memory} of the container {container['name']}"
            return f"the memory volume {name} of {field.value} exceeds {limit}"
    return ""


def _exposes_devices(field: Field) -> str:
    resources = field.parent(3).get("resources") or {}
    limits = resources.get("limits") or {}
    has_gpu = resources.get("claims") or any(
        re.search(IS_GPU, name) and quantity.parse(limits[name]) for name in limits
    )
    name = "NVIDIA_VISIBLE_DEVICES"
    if field.parent()["name"] != name or has_gpu or field.value in ("", "none", "void"):
        return ""
    return f"{name} {shown(field.value)} exposes GPUs that Kubernetes may assign to other pods"


def _is_weak_app_armor(field: Field) -> str:
    profile = field.destination.profile
    is_app_armor = str(field.key).startswith("container.apparmor.security.beta.kubernetes.io/")
    is_allowed = field.value in ("", "runtime/default") or str(field.value).startswith("localhost/")
    if profile == "privileged" or not is_app_armor or is_allowed:
        return ""
    return f"security.profile {profile} refuses the AppArmor profile {shown(field.value)}"


_PODS: Final = (
    # validateDNSPolicy
    refused("pod.dnsPolicy", *one_of("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")),
    # validatePodDNSConfig
    refused("pod.dnsPolicy", _has_no_nameserver, "set dnsConfig.nameservers, or remove dnsPolicy"),
    # validateOS
    refused("pod.os.name", wrong_value(lambda name: name not in ("linux", "windows")), "write linux"),
    # validateWindows
    refused("pod.os.name", _has_linux_fields, "write linux"),
    # https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/
    Row(
        "object-schema",
        f"{CONTAINER}.restartPolicyRules",
        exists("a restart of a container in place"),
        "remove inPlace",
        until=(1, 35),
        job_key="restart.inPlace",
    ),
    # https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    generated(
        "dns-policy",
        "pod.dnsPolicy|hostNetwork",
        _resolves_no_hosts,
        "write dnsPolicy: ClusterFirst, or ClusterFirstWithHostNet with hostNetwork",
    ),
    # https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#jobs-with-sidecar-containers
    generated("second-container", "pod.containers.*", _keeps_pod_running, "move the container to sidecars"),
    # https://kubernetes.io/docs/concepts/services-networking/#the-kubernetes-network-model
    generated("used-port", f"{CONTAINER}.ports.*", _has_port_of_main_container, "choose a different port", "error"),
    # enable_unprivileged_ports of https://github.com/containerd/containerd/blob/main/docs/cri/config.md
    generated(
        "low-port", f"{CONTAINER}.ports.*.containerPort", _needs_root, "choose port 1024 or higher", job_key="port"
    ),
    # https://kubernetes.io/docs/concepts/storage/volumes/#emptydir
    generated(
        "shm-size", "pod.volumes.*.emptyDir.sizeLimit", _is_larger_than_memory, "raise the memory limit, or lower shm"
    ),
    # https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    generated("visible-devices", f"{CONTAINER}.env.*.value", _exposes_devices, "remove the variable, or request GPUs"),
    # https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
    generated(
        "pod-security",
        "template.metadata.annotations.*",
        _is_weak_app_armor,
        "remove the annotation, or set security.profile to privileged",
        "error",
    ),
)

POD_ROWS: Final = (*_CONTAINERS, *_VOLUMES, *_PODS)
