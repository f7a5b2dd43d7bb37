"""Tests of fields for the rows of the table.

Each test returns what is wrong with a field, as words for a message, and an empty text for a correct field.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.check.object_rules.row import Field
from tfgen.graph.objects.resources import IS_GPU
from tfgen.job.choices import ROLE_NAMES
from tfgen.kubernetes import keys, quantity
from tfgen.kubernetes.kinds import KINDS, find_groups
from tfgen.kubernetes.limits import ANNOTATIONS_MAX, PROGRAM_MAX, STRING_COST, STRING_MAX
from tfgen.kubernetes.object import group
from tfgen.rules.expansion import measure_expanded
from tfgen.words import NEAR, either, nearest, shown

Test = Callable[[Field], str]

_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL: Final = re.compile(_LABEL)
DNS_LABEL_WITH_LETTER: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_SUBDOMAIN: Final = re.compile(
    rf"(?=.{{1,253}}$){_LABEL.replace('{0,61}', '*')}(\.{_LABEL.replace('{0,61}', '*')})*"
)
CSI_DRIVER: Final = re.compile(rf"(?=.{{1,63}}$)(?i:{DNS_SUBDOMAIN.pattern})")
DATA_KEY: Final = re.compile(r"(?!\.\.)(?!\.$)[-._a-zA-Z0-9]{1,253}")
PORT_NAME: Final = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")

_SIZES: Final = tuple(f"1{suffix}" for suffix in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
_RESOURCE: Final = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_OF_ENV: Final = re.compile(
    r"metadata\.(name|namespace|uid|(labels|annotations)\['.+'\])|spec\.(nodeName|serviceAccountName)"
    r"|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_OF_FILES: Final = re.compile(r"metadata\.(name|namespace|uid|labels|annotations|(labels|annotations)\['.+'\])")
_PROC_FILES: Final = frozenset(
    f"/proc/{name}"
    for name in (
        "cpuinfo",
        "diskstats",
        "loadavg",
        "meminfo",
        "net/dev",
        "slabinfo",
        "stat",
        "swaps",
        "sys/crypto/fips_enabled",
        "sys/kernel/ns_last_pid",
        "uptime",
    )
)
"""Files below /proc that runc lets a volume replace, as an emulation of the file."""

_HUGE_PAGES: Final = "hugepages-"
_VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
_LINUX_ONLY: Final = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
)
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_ALWAYS_RUNNING: Final = ("StatefulSet", "Deployment", "DaemonSet", "ReplicaSet")
_FIRST_PORT: Final = 1024
"""The lowest port on which a user other than root may listen (ip_unprivileged_port_start of Linux)."""


# -- tests that several rows share ---------------------------------------------------------------------------------


def exists(description: str) -> Test:
    """Return a test that refuses each value of a field except an empty value."""
    return lambda field: description if field.value or field.value == 0 else ""


def not_in(*allowed: Any) -> Test:
    """Return a test that refuses each value outside `allowed`."""
    return lambda field: f"{field.key} {shown(field.value)}" if field.value not in allowed else ""


def not_matching(pattern: re.Pattern[str]) -> Test:
    """Return a test that refuses a text that does not match a pattern completely."""
    return lambda field: "" if pattern.fullmatch(str(field.value)) else f"{field.key} {shown(field.value)}"


def key_not_matching(pattern: re.Pattern[str]) -> Test:
    """Return a test that refuses the key of a field if the key does not match a pattern completely."""
    return lambda field: "" if pattern.fullmatch(str(field.key)) else f"the key {shown(field.key)}"


def outside(lowest: int, highest: int) -> Test:
    """Return a test that refuses an integer outside a range."""

    def test(field: Field) -> str:
        is_inside = not isinstance(field.value, int) or lowest <= field.value <= highest
        return "" if is_inside else f"{field.key} {field.value}"

    return test


def not_one_of_keys(noun: str, ignored: Sequence[str] = (), *, may_be_none: bool = False) -> Test:
    """Return a test that refuses a mapping with several keys, apart from the keys in `ignored`, or with none.

    Args:
        noun: the name of a key in messages, such as "source".
        ignored: the keys that do not count.
        may_be_none: whether the mapping may have no such key.
    """

    def test(field: Field) -> str:
        names = [key for key, value in field.value.items() if key not in ignored and value is not None]
        if len(names) > 1:
            return f"{len(names)} {noun}s ({either(names, 'and')})"
        return "" if names or may_be_none else f"no {noun}"

    return test


def without(*required: str) -> Test:
    """Return a test that refuses a mapping without one of the required keys."""

    def test(field: Field) -> str:
        missing = [key for key in required if not field.value.get(key)]
        name = f" {shown(field.value['name'])}" if field.value.get("name") else ""
        return f"an entry{name} without {either(missing, 'and')}" if missing else ""

    return test


def repeats(key: str) -> Test:
    """Return a test that refuses an item of a list whose value of `key` an earlier item of the list has."""

    def test(field: Field) -> str:
        earlier = (item.get(key) for item in field.parent()[: field.key])
        name = field.value.get(key)
        return f"a second entry with the {key} {shown(name)}" if name is not None and name in earlier else ""

    return test


# -- paths, keys and names -----------------------------------------------------------------------------------------


def leaves_folder(field: Field) -> str:
    """Refuse an absolute path, and a path with the step `..`."""
    is_absolute = str(field.value).startswith("/")
    return f"{field.key} {shown(field.value)}" if is_absolute or ".." in str(field.value).split("/") else ""


def has_backsteps(field: Field) -> str:
    """Refuse a path with the step `..`."""
    return f"{field.key} {shown(field.value)}" if ".." in str(field.value).split("/") else ""


def is_reserved_file(field: Field) -> str:
    """Refuse an absolute path, a path with the step `..`, and a path that begins with two dots."""
    return f"{field.key} {shown(field.value)}" if str(field.value).startswith("..") else leaves_folder(field)


def is_below_proc(field: Field) -> str:
    """Refuse a mount below /proc, except for the files that a runtime may emulate."""
    path = posixpath.normpath(str(field.value))
    is_below = path.startswith("/proc/") or path == "/proc"
    return f"the mount path {shown(field.value)}" if is_below and path not in _PROC_FILES else ""


def is_mounted_twice(field: Field) -> str:
    """Refuse a mount path that an earlier mount of the container has."""
    return repeats("mountPath")(field)


def is_not_in_pod(field: Field) -> str:
    """Refuse a mount of a volume that the pod does not have."""
    claims = data_path.at(field.owner, ("spec", "volumeClaimTemplates")) or ()
    names = [volume["name"] for volume in field.spec.get("volumes") or ()]
    names += [claim["metadata"]["name"] for claim in claims]
    return "" if field.value in names else f"the volume {shown(field.value)} that the pod does not have"


def has_two_sub_paths(field: Field) -> str:
    """Refuse a mount with both subPath and subPathExpr."""
    return "both subPath and subPathExpr" if field.value.get("subPath") and field.value.get("subPathExpr") else ""


def repeats_projected_path(field: Field) -> str:
    """Refuse a source of a projected volume with a file that an earlier entry of the volume has."""
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


def is_long_pod_name(field: Field) -> str:
    """Refuse the name of a JobSet with a role for whose pods the webhook would need more than 63 characters.

    A pod has the name JOBSET-ROLE-JOB-INDEX-abcde.
    """
    spec = field.parent(2)["spec"]
    names = [
        f"{field.value}-{job['name']}-{job.get('replicas', 1) - 1}-{_last_index(job)}-abcde"
        for job in spec["replicatedJobs"]
    ]
    longest = max(names, key=len)
    return f"the pod name {longest} with {len(longest)} characters" if len(longest) > _LABEL_MAX else ""


_LABEL_MAX: Final = 63


def _last_index(job: Mapping[str, Any]) -> int:
    completions: int = job["template"]["spec"].get("completions") or job["template"]["spec"].get("parallelism") or 1
    return completions - 1


# -- resources -----------------------------------------------------------------------------------------------------


def is_device(name: str) -> bool:
    """Return True if a device plugin, and not Kubernetes itself, provides a resource."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")


def is_above_limit(field: Field) -> str:
    """Refuse a request above the limit of the same resource."""
    limit = (field.parent(2).get("limits") or {}).get(field.key)
    if limit is None or quantity.parse(field.value) <= quantity.parse(limit):
        return ""
    return f"a request of {field.value} with a limit of {limit}"


def differs_from_limit(field: Field) -> str:
    """Refuse a request for a device, or for huge pages, without an equal limit."""
    limit = (field.parent(2).get("limits") or {}).get(field.key)
    if limit is None:
        return f"a request of {field.value} without a limit"
    is_below = quantity.parse(field.value) < quantity.parse(limit)
    return f"a request of {field.value} with a limit of {limit}" if is_below else ""


def of_devices(test: Test) -> Test:
    """Return a test that applies only to the amounts of devices."""
    return lambda field: test(field) if is_device(str(field.key)) else ""


def of_huge_pages(test: Test) -> Test:
    """Return a test that applies only to the amounts of huge pages."""
    return lambda field: test(field) if str(field.key).startswith(_HUGE_PAGES) else ""


def is_fraction(field: Field) -> str:
    """Refuse a fraction."""
    return f"a request for {field.value} devices" if quantity.parse(field.value).denominator != 1 else ""


def is_partial_page(field: Field) -> str:
    """Refuse an amount of huge pages that is not a multiple of the page size."""
    page = quantity.parse(str(field.key).removeprefix(_HUGE_PAGES))
    return f"{field.value} of {field.key}" if quantity.parse(field.value) % page else ""


def is_alone(field: Field) -> str:
    """Refuse huge pages in a container without an amount of cpu or memory."""
    amounts = {**(field.parent(2).get("requests") or {}), **(field.parent(2).get("limits") or {})}
    return f"{field.key} without cpu or memory" if {"cpu", "memory"}.isdisjoint(amounts) else ""


def has_odd_unit(field: Field) -> str:
    """Report an amount that is valid but probably has the wrong unit, such as half a byte of memory."""
    text, name = str(field.value), str(field.key)
    amount = quantity.parse(text)
    if name == "cpu" and amount > _MAX_CPUS:
        return f"{text} means {float(amount):,.10g} CPUs"
    if name in ("memory", "ephemeral-storage", "storage") and 0 < amount < _MIN_BYTES:
        return f"{text} means {'one byte' if amount == 1 else f'{float(amount):.5g} bytes'}"
    return ""


_MIN_BYTES: Final = 2**20
"""Smallest plausible amount of memory or disk: no container starts with fewer bytes, and no disk is smaller."""
_MAX_CPUS: Final = 499
"""Largest plausible number of CPUs of a task. Nodes with more CPUs, up to 1,920, are for in-memory databases."""


def is_wrong_resource(field: Field) -> str:
    """Refuse the name of a resource that a variable or a file cannot refer to."""
    return "" if _RESOURCE.fullmatch(str(field.value)) else f"resource {shown(field.value)}"


def is_wrong_divisor(field: Field) -> str:
    """Refuse a divisor that is not a unit of the resource."""
    units = ("1", "1m") if str(field.parent().get("resource", "")).endswith(".cpu") else _SIZES
    divisor = quantity.parse(field.value) if quantity.is_quantity(field.value) else None
    if divisor in (0, *map(quantity.parse, units)):
        return ""
    return f"divisor {shown(field.value)}"


def is_wrong_field_path(field: Field) -> str:
    """Refuse a field of the pod that a variable cannot have."""
    return "" if _OF_ENV.fullmatch(str(field.value)) else f"fieldPath {shown(field.value)}"


def is_wrong_file_path(field: Field) -> str:
    """Refuse a field of the pod that a file cannot have."""
    return "" if _OF_FILES.fullmatch(str(field.value)) else f"fieldPath {shown(field.value)}"


def exposes_devices(field: Field) -> str:
    """Report a variable that exposes GPUs to a container without a request for GPUs."""
    limits = (field.parent(3).get("resources") or {}).get("limits") or {}
    has_gpu = any(re.search(IS_GPU, name) and quantity.parse(limits[name]) for name in limits)
    if field.parent()["name"] != _VISIBLE_DEVICES or has_gpu or field.value in ("", "none", "void"):
        return ""
    return f"{_VISIBLE_DEVICES} {shown(field.value)} exposes GPUs that Kubernetes may assign to other pods"


# -- pods ----------------------------------------------------------------------------------------------------------


def is_no_sidecar(description: str) -> Test:
    """Return a test that refuses a field of an init container that ends before the main container starts."""
    return lambda field: "" if field.parent().get("restartPolicy") == "Always" else description


def has_linux_fields(field: Field) -> str:
    """Refuse the operating system windows in a pod with fields that only Linux has."""
    containers = [*(field.spec.get("initContainers") or ()), *(field.spec.get("containers") or ())]
    contexts = [part.get("securityContext") or {} for part in (field.spec, *containers)]
    linux = [key for context in contexts for key in _LINUX_ONLY if context.get(key) is not None]
    return f"windows in a pod with {linux[0]}" if field.value == "windows" and linux else ""


def has_no_nameserver(field: Field) -> str:
    """Refuse `dnsPolicy: None` without a nameserver."""
    has_servers = (field.spec.get("dnsConfig") or {}).get("nameservers")
    return "dnsPolicy None without dnsConfig.nameservers" if field.value == "None" and not has_servers else ""


def is_weak_app_armor(field: Field) -> str:
    """Refuse an annotation that gives a container a profile of AppArmor other than a default or a local profile."""
    is_allowed = field.value in ("", "runtime/default") or str(field.value).startswith("localhost/")
    is_weak = str(field.key).startswith(_APP_ARMOR) and not is_allowed
    return f"the AppArmor profile {shown(field.value)}" if is_weak else ""


def resolves_no_hosts(field: Field) -> str:
    """Report the pods of a role that cannot resolve the names of Services."""
    if field.pods is None or field.pods.labels.get(keys.ROLE) not in ROLE_NAMES:
        return ""
    is_on_host = field.key == "hostNetwork" and field.value and field.spec.get("dnsPolicy") in (None, "ClusterFirst")
    if field.value != "Default" and not is_on_host:
        return ""
    cause = "hostNetwork with dnsPolicy ClusterFirst" if is_on_host else "dnsPolicy Default"
    return f"{cause} lets the pod resolve no host of TF_CONFIG"


def keeps_pod_running(field: Field) -> str:
    """Report a second container in a pod that should end."""
    if field.owner["kind"] in _ALWAYS_RUNNING or field.key == 0:
        return ""
    name = shown(field.value.get("name"))
    return f"the {field.owner['kind']} does not end while the container {name} runs"


def has_port_of_main_container(field: Field) -> str:
    """Refuse a port of a container that the main container of the pod uses. The containers of a pod run together."""
    main, container = field.spec["containers"][0], field.parent(2)
    if container is main or ("initContainers" in field.path and container.get("restartPolicy") != "Always"):
        return ""
    used = {(port.get("containerPort"), port.get("protocol", "TCP")) for port in main.get("ports") or ()}
    port = (field.value.get("containerPort"), field.value.get("protocol", "TCP"))
    name = main.get("name")
    return f"the container {name} of the same pod listens on port {port[0]}" if port in used else ""


def needs_root(field: Field) -> str:
    """Report a port below 1024 of a container that does not run as root."""
    pod, container = field.spec.get("securityContext") or {}, field.parent(3).get("securityContext") or {}
    user = container.get("runAsUser", pod.get("runAsUser"))
    is_allowed = any(item.get("name") == "net.ipv4.ip_unprivileged_port_start" for item in pod.get("sysctls") or ())
    is_allowed = is_allowed or "NET_BIND_SERVICE" in ((container.get("capabilities") or {}).get("add") or ())
    if field.value >= _FIRST_PORT or not user or is_allowed:
        return ""
    return f"in some clusters, the user {user} may not listen on port {field.value}"


def is_larger_than_memory(field: Field) -> str:
    """Report a memory volume that is larger than the memory limit of a container that mounts the volume."""
    name = field.parent(2).get("name")
    if field.parent().get("medium") != "Memory":
        return ""
    for container in field.spec["containers"]:
        memory = ((container.get("resources") or {}).get("limits") or {}).get("memory")
        is_mounted = any(mount.get("name") == name for mount in container.get("volumeMounts") or ())
        if is_mounted and memory and quantity.parse(field.value) > quantity.parse(memory):
            return (
                f"the memory volume {name} of {field.value} exceeds the memory limit {memory} of the container "
                f"{container['name']}"
            )
    return ""


# -- sizes ---------------------------------------------------------------------------------------------------------


def has_large_annotations(field: Field) -> str:
    """Refuse annotations that are larger than Kubernetes allows."""
    total = sum(len(f"{key}{text}".encode()) for key, text in field.value.items())
    return f"annotations of {total:,} bytes" if total > ANNOTATIONS_MAX else ""


def is_large_text(field: Field) -> str:
    """Refuse an argument, or the value of a variable, that is larger than Linux allows for a string."""
    container, name = (field.parent(3), field.parent()["name"]) if field.key == "value" else (field.parent(2), None)
    earlier = container["env"][: field.path[-2]] if name is not None else container.get("env") or ()
    size = measure_expanded(str(field.value), _sizes(earlier))
    size += 0 if name is None else len(f"{name}=".encode())
    return f"a text of {size:,} bytes" if size > STRING_MAX else ""


def is_large_program(field: Field) -> str:
    """Refuse a container whose arguments and variables are together larger than Linux allows.

    Values from Secrets, ConfigMaps and envFrom count as 0 bytes, because tfgen cannot read them.
    """
    variables = field.value.get("env") or ()
    sizes = _sizes(variables)
    texts = [*(field.value.get("command") or ()), *(field.value.get("args") or ())]
    total = sum(len(f"{item['name']}=".encode()) + sizes[item["name"]] for item in variables)
    total += sum(measure_expanded(str(text), sizes) for text in texts) + STRING_COST * (len(variables) + len(texts))
    return f"arguments and variables of {total:,} bytes" if total > PROGRAM_MAX else ""


def _sizes(variables: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of bytes in the value of each variable, after Kubernetes expands the references."""
    sizes: dict[str, int] = {}
    for item in variables:
        sizes[item["name"]] = measure_expanded(str(item.get("value") or ""), sizes)
    return sizes


# -- other objects -------------------------------------------------------------------------------------------------


def begins_with_digit(field: Field) -> str:
    """Refuse a name that begins with a digit."""
    return f"{field.key} {shown(field.value)}" if str(field.value)[:1].isdigit() else ""


def is_unknown_kind(field: Field) -> str:
    """Refuse a kind that the API group of the object does not contain."""
    version, group_name = field.owner["apiVersion"], group(field.owner)
    kinds = KINDS.get(group_name)
    if kinds is None or field.value in kinds:
        return ""
    if groups := find_groups(field.value):
        names = (shown(name) if name else "core, whose apiVersion is v1" for name in groups)
        return f"{version} has no kind {shown(field.value)}, which is in the group {either(names)}"
    near = nearest(field.value, kinds, NEAR)
    return f"{version} has no kind {shown(field.value)}, but {shown(near)}" if near else ""


def is_not_ascending(field: Field) -> str:
    """Refuse a list of exit codes that are not in ascending order."""
    return (
        f"exit codes that are not in ascending order: {shown(field.value)}"
        if [*field.value] != sorted(field.value)
        else ""
    )


def ends_before_port(field: Field) -> str:
    """Refuse a range of ports that ends before its first port."""
    first = field.parent()["port"]
    return f"endPort {field.value} after port {first}" if isinstance(first, int) and field.value < first else ""


def is_outside_block(field: Field) -> str:
    """Refuse a range of addresses that is no smaller part of the range under `cidr`."""
    from ipaddress import ip_network  # takes 5 ms, which a job without such a rule saves

    cidr = field.parent(2)["cidr"]
    part, whole = ip_network(field.value, strict=False), ip_network(cidr, strict=False)
    is_part = part.version == whole.version and part.prefixlen > whole.prefixlen and part.network_address in whole
    return "" if is_part else f"the exception {field.value} that is no smaller range inside {cidr}"


def names_no_role(field: Field) -> str:
    """Refuse a rule of a JobSet for a role that the JobSet does not have."""
    jobs = [job["name"] for job in field.owner["spec"]["replicatedJobs"]]
    return "" if field.value in jobs else f"the role {field.value} that the job does not have"


# -- selectors of affinities ---------------------------------------------------------------------------------------


def has_wrong_values(*operators: str) -> Test:
    """Return a test that refuses an expression with an unknown operator, or with values that the operator refuses."""

    def test(field: Field) -> str:
        operator, count = field.value.get("operator"), len(field.value.get("values") or ())
        if operator not in operators:
            return f"the operator {shown(operator)}"
        wrong = {"In": not count, "NotIn": not count, "Exists": count, "DoesNotExist": count}
        return f"the operator {operator} with {count} values" if wrong.get(operator, count != 1) else ""

    return test
