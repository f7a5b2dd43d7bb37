"""Converter of a foreign pod template to the fields of a role in job.yaml.

A setting without a field in a role goes into ``podTemplate``. Settings of the whole job, such as the scheduler, the
port and the rights, are separate attributes of `PodData`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers.part import POD_DEFAULTS, Part, plain_data, sequence
from tfgen.importers.table import ANY_KEY, KEY, ROLE, Conversion, FieldReader, Fields, Notes, carried, changed, dropped
from tfgen.kubernetes import keys, quantity
from tfgen.record import EMPTY, Record
from tfgen.schema import file as schema_file
from tfgen.schema import kubernetes_fields, tunables
from tfgen.schema.kinds import COPIED

CONTAINER: Final = "tensorflow"
"""The name of the main container, which Kubeflow's operator requires."""

PORT: Final = 2222
"""The default port of TensorFlow."""

RESTART_POLICY: Final = ("spec", "restartPolicy")
"""The path of the restart policy in a pod template. tfgen itself sets the restart policy of its pods."""

RESTART_IN_PLACE: Final[Path] = ("spec", "restart", "inPlace")
"""The path of the setting in a job that replaces the restart rules of a container."""

_ROLE: Final = ("spec", "roles", ROLE)
_POD: Final = (*_ROLE, "podTemplate", "spec")
_MAIN: Final = (*_POD, "containers", 0)


def _with_defaults(*target: str | int, **values: Any) -> dict[str, Conversion]:
    """Return table rows by field name. The import omits a field with the value that the pods of tfgen have by default.

    Args:
        target: the path of the mapping in the job that gets a field with any other value.
        values: the value of each field in the pods of tfgen, such as `enableServiceLinks=False`.
    """
    return {key: carried(*target, KEY, default=value) for key, value in values.items()}


_SPEC: Final[Fields] = {
    **dict.fromkeys(("nodeName", "terminationGracePeriodSeconds"), carried(*_ROLE, KEY)),
    **{
        key: carried(*_ROLE, KEY, default=tunables.at((key,)).default, why_default="Kubernetes' default")
        for key in COPIED
    },
    **dict.fromkeys(("containers", "initContainers", "restartPolicy", "volumes")),
    **_with_defaults(*_POD, dnsPolicy="ClusterFirst", hostIPC=False, hostNetwork=False, hostPID=False),
    **_with_defaults(*_POD, setHostnameAsFQDN=False, shareProcessNamespace=False),
    **_with_defaults(*_POD, automountServiceAccountToken=False, enableServiceLinks=False),
    **_with_defaults(*_ROLE, "security", hostUsers=True),
    "activeDeadlineSeconds": dropped(
        "the limit applies to one pod; set spec.deadline, which limits the task that ends the job"
    ),
    "ephemeralContainers": dropped("ephemeral containers exist only in a running pod, for debugging"),
    "hostname": dropped("tfgen sets the host name of each task"),
    "priority": dropped("Kubernetes computes the number from priorityClassName"),
    "subdomain": dropped("tfgen sets the subdomain to the Service of the job"),
    ANY_KEY: carried(*_POD, KEY),
}
"""The conversion of each field of a pod spec.

Defaults: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/.
"""
_CONTAINER_FIELDS: Final[Fields] = {
    **dict.fromkeys(("name", "volumeMounts")),
    **dict.fromkeys(("image", "imagePullPolicy", "workingDir", "envFrom"), carried(*_ROLE, KEY)),
    **_with_defaults(*_MAIN, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File"),
    ANY_KEY: carried(*_MAIN, KEY),
}
"""The conversion of each field of the main container."""
_SECURITY: Final = carried(*_ROLE, "security", KEY)
_POD_HARDENING: Final[Mapping[str, Any]] = {"seccompProfile": {"type": "RuntimeDefault"}}
_MAIN_HARDENING: Final[Mapping[str, Any]] = {
    **_POD_HARDENING,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}
"""Fields of a security context with the values that a strict Pod Security profile of tfgen sets."""
_POD_SECURITY: Final[Fields] = {
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _SECURITY),
    **_with_defaults(*_POD, "securityContext", fsGroupChangePolicy="OnRootMismatch", **_POD_HARDENING),
    ANY_KEY: carried(*_POD, "securityContext", KEY),
}
_CONTEXT: Final = (*_MAIN, "securityContext")
_MAIN_SECURITY: Final[Fields] = {
    "readOnlyRootFilesystem": _SECURITY,
    **_with_defaults(*_CONTEXT, privileged=False, **_MAIN_HARDENING),
    ANY_KEY: carried(*_CONTEXT, KEY),
}
_TOKEN: Final = changed(
    *_ROLE,
    "serviceAccountName",
    why="tfgen does not mount the token; for a program that calls the API server, set "
    "podTemplate: {spec: {automountServiceAccountToken: true}}",
    sets=False,
)
_OPERATOR_LABEL: Final = re.compile(
    r"(training\.kubeflow\.org|volcano\.sh|batch\.kubernetes\.io|jobset\.sigs\.k8s\.io)/"
    r"|tf[-_]job|tf-replica|group[-_]name$|job[-_](name|role|type)$|replica-(index|type)$|runtime_id$|task_index$"
)
"""Pattern for the keys of labels that operators add to their pods. The pods of tfgen do not have these labels."""

_RESTARTS: Final = ("restartPolicy", "restartPolicyRules")
"""The fields of a container that control the restarts of the container in its pod."""

_NODE_PORT_FIELDS: Final = ("hostIP", "hostPort")
"""The fields of a container port that also open the port on the node."""

_RUN_VARIABLES: Final = ("TFGEN_RUN", "TFGEN_RUN_FOLDER")
"""Variables that tfgen sets in rendered manifests."""
PULL_SECRETS: Final = ("spec", "imagePullSecrets")
"""The path of the pull secrets in a job."""
_HELM_2_LABELS: Final = ("chart", "heritage", "release")
"""Labels that charts for Helm 2 set on all objects: https://v2.helm.sh/docs/chart_best_practices/#standard-labels."""


GROUP_KEYS: Final = (
    keys.GROUP_NAME,
    keys.POD_GROUP,
    keys.KAI_GROUP,
    keys.KAI_SKIP,
    keys.KAI_QUEUE,
    "kai.scheduler/subgroup-name",
    keys.KOORDINATOR_GROUP,
    "scheduling.volcano.sh/group-name",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-group.scheduling.sigs.k8s.io/min-available",
    "gang.scheduling.koordinator.sh/name",
    "gang.scheduling.koordinator.sh/min-available",
    keys.TASK_SPEC,
)
"""Labels and annotations in which a pod names its PodGroup."""


ECI_PATHS: Final[Mapping[str, str]] = {
    keys.ECI_PREFIX + name: path
    for name, path in {**keys.ECI_TEXTS, **keys.ECI_LISTS, keys.ECI_IMAGE_CACHE: "imageCache.match"}.items()
}
"""Annotation of a pod on Alibaba Cloud's Elastic Container Instance -> key of ``cloud.eci``."""
_ECI: Final = ("spec", "cloud", "eci")


class Program(Record):
    """Program of the main container, without the TensorFlow cluster configuration.

    Attributes:
        command: the program and its first arguments; None if the import does not change the command of the container.
        args: the arguments after the command.
        omitted: the reason for each variable that the import drops. Example:
            {"TF_CONFIG": "tfgen sets TF_CONFIG for each task"}.
    """

    command: Sequence[str] | None = None
    args: Sequence[str] | None = None
    omitted: Mapping[str, str] = EMPTY


class PodData(Record):
    """Result of the conversion of a pod template to the fields of job.yaml.

    Attributes:
        role: the fields of the role.
        storage: the volumes that the main container mounts, by name.
        pull_secrets: the names of the pull secrets.
        security: the fields for ``security`` of the job.
        hardening: the fields of the security contexts that a strict Pod Security profile of tfgen also sets, with their
            values, by the path in a role.
        port: the part of the source that sets TensorFlow's port, or None.
        port_name: the name of TensorFlow's port, which the probes and hooks of the main container may use; or "".
        scheduler: the part of the source that names a scheduler other than the default, or None.
        restart_codes: the exit codes after which the kubelet restarts the main container in its pod.
        group_keys: the labels and annotations that bind the pod to its PodGroup.
        scheduling_groups: the field that binds the pod to a PodGroup of Kubernetes; empty without the field.
        boards: pod templates with the containers of TensorBoard that ran beside the program.
    """

    role: Mapping[str, Any] = EMPTY
    storage: Mapping[str, Any] = EMPTY
    pull_secrets: Sequence[str] = ()
    security: Mapping[str, Any] = EMPTY
    hardening: Mapping[Path, Any] = EMPTY
    port: Part | None = None
    port_name: str = ""
    scheduler: Part | None = None
    restart_codes: frozenset[int] = frozenset()
    group_keys: Sequence[Part] = ()
    scheduling_groups: Sequence[Part] = ()
    boards: Sequence[Part] = ()


def join_pull_secrets(pods: Iterable[PodData]) -> list[str]:
    """Return the names of the pull secrets of all pods, because all pods of a job have the same secrets."""
    return list(dict.fromkeys(name for pod in pods for name in pod.pull_secrets))


def main_container(template: Part) -> Part | None:
    """Return the main container: the container named tensorflow, or the first container."""
    containers = [item for item in template.items("spec", "containers") if isinstance(item.value, Mapping)]
    by_name = (item for item in containers if (name := item.get("name")) and name.value == CONTAINER)
    return next(by_name, containers[0] if containers else None)


def with_main(template: Part, main: Part, new_main: Part) -> Part:
    """Return a pod template with another main container."""
    containers = template.value["spec"].value["containers"]
    items = [new_main if item is main else item for item in containers.items()]
    return template.with_part(("spec", "containers"), sequence(containers, items))


def translate(template: Part, role: str, notes: Notes, ports: Sequence[str | int], program: Program) -> PodData | None:
    """Convert a pod template to the fields of a role. Return None if the import report has problems.

    Args:
        template: a PodTemplateSpec.
        role: the role of the pods.
        notes: the notes of the import.
        ports: the names and numbers that TensorFlow's port may have, in order of preference.
        program: the program without the TensorFlow cluster configuration.
    """
    valid = valid_template(template, notes)
    main = main_container(valid) if valid else None
    if valid and main is None:
        notes.refuse(valid, "the pod template has no container; add a container")
    return _PodReader(valid, main, role, notes).pod_data(ports, program) if valid and main else None


def valid_template(template: Part, notes: Notes) -> Part | None:
    """Return the template without unknown fields. If a field has a wrong type, report a problem and return None."""
    is_valid = True
    valid = template

    def at(path: Sequence[str | int]) -> Part:
        part = template
        for step in path:
            part = part.value[step]
        return part

    data = plain_data(template, keeps_null=True)
    for misfit in kubernetes_fields.misfits((), data, "PodTemplateSpec", lambda path: at(path).text or ""):
        part = at(misfit.path)
        if misfit.mistake == "shape":
            notes.refuse(part, misfit.message.partition(": ")[2] or misfit.message)
            is_valid = False
        else:
            notes.reason(part, f"{misfit.message}; Kubernetes drops this field as well")
            valid = valid.without_path(misfit.path)
    return valid if is_valid else None


class _PodReader(FieldReader):
    """Reader of a pod template."""

    def __init__(self, template: Part, main: Part, role: str, notes: Notes) -> None:
        super().__init__(notes, role)
        self.template, self.main = template, main
        self.name = main.text_at("name")
        self.role_path: Path = ("spec", "roles", role)
        self.pod_path: Path = (*self.role_path, "podTemplate", "spec")
        self.container_path: Path = (*self.pod_path, "containers", 0)
        group = template.get("spec", "schedulingGroup")
        self.pod = PodData(restart_codes=_restart_codes(main), scheduling_groups=[group] if group else [])

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set the value at a path of the role. Skip an empty value for a top-level field of the role."""
        if path[:-1] != self.role_path or value not in ("", [], {}):
            super().set_value(value, *path)

    def pod_data(self, ports: Sequence[str | int], program: Program) -> PodData:
        """Convert all fields of the pod template, and return the result."""
        group_keys: list[Part] = []
        for key, part in sorted(self.template.entries("metadata")):
            if key in ("labels", "annotations"):
                group_keys += [entry for name, entry in part.entries() if name in GROUP_KEYS]
                of_instance = self._instance_keys(key, part)
                entries = user_keys(part.without(*GROUP_KEYS, *of_instance), (*self.role_path, key), self.notes)
                self.set_value(entries, *self.role_path, key)
            else:
                self.notes.reason(part, "tfgen sets the name and the namespace of each pod")
        self._read_main_container(ports, program)
        for key in ("command", "args"):
            # A script in args may become a command without args.
            self.set_value(list(getattr(program, key) or ()), *self.role_path, key)
            if program.command is None and (words := self.main.get(key)):
                self.put(words, words.texts_at(), *self.role_path, key)
        volumes = ForeignVolumes(self.template, self.main, self.role_path, self.notes)
        for key, value in volumes.role.items():
            self.set_value(value, *self.role_path, key)
        if volumes.mounts:
            self.set_value(volumes.mounts, *self.container_path, "volumeMounts")
        if volumes.volumes:
            self.set_value(volumes.volumes, *self.pod_path, "volumes")
        self._read_spec()
        self._read_sidecars(volumes)
        role = renamed(data_path.at(self.data, self.role_path) or {}, "containerName", self.name, CONTAINER)
        security = role.pop("security", {})
        if containers := (data_path.at(role, ("podTemplate", "spec")) or {}).pop("containers", None):
            role["podTemplate"]["spec"]["containers"] = [{"name": CONTAINER, **containers[0]}]
        hardening: dict[Path, Any] = {}
        for pod_part, path, values in (
            (self.template.value["spec"], self.pod_path[3:], _POD_HARDENING),
            (self.main, self.container_path[3:], _MAIN_HARDENING),
        ):
            for name, value in values.items():
                if (field := pod_part.get("securityContext", name)) and field.data == value:
                    hardening[*path, "securityContext", name] = value
        storage = renamed(volumes.storage, "containerName", self.name, CONTAINER)
        return self.pod.replaced(
            role=role, storage=storage, security=security, hardening=hardening, group_keys=group_keys
        )

    def _instance_keys(self, section: str, part: Part) -> list[str]:
        """Read the labels or annotations that select an instance of Alibaba Cloud, and return their keys.

        `job_yaml` moves them to ``cloud.eci`` if all roles select the same instances.
        """
        paths = ECI_PATHS if section == "annotations" else {keys.ECI: "way"}
        found = [key for key, _ in part.entries() if key in paths]
        if section == "labels":
            found = [key for key in found if part.value[key].value in ("true", True)]
        for key in found:
            value = part.value[key]
            self.notes.target(value, *_ECI, *paths[key].split("."))
            self.put(value, value.as_text, *self.role_path, "podTemplate", "metadata", section, key)
        return found

    def _read_spec(self) -> None:
        readers: Fields = {
            "affinity": self._affinity,
            "imagePullSecrets": self._pull_secrets,
            "schedulerName": self._scheduler,
            "schedulingGroup": None,
            "securityContext": lambda _, part: self.fields(part, _POD_SECURITY),
            "nodeSelector": self._node_selector,
            "tolerations": self._tolerations,
            **dict.fromkeys(("serviceAccount", "serviceAccountName"), self._service_account),
            "topologySpreadConstraints": self._topology_spread,
        }
        self.fields(self.template.get("spec"), {**_SPEC, **readers})

    def _scheduler(self, _key: str, part: Part) -> None:
        if part.value != POD_DEFAULTS["schedulerName"]:
            self.pod = self.pod.replaced(scheduler=part)

    def _pull_secrets(self, _key: str, part: Part) -> None:
        names = [name.as_text for item in part.items() if (name := item.get("name"))]
        self.pod = self.pod.replaced(pull_secrets=names)
        self.notes.target(part, *PULL_SECRETS)

    def _node_selector(self, key: str, part: Part) -> None:
        FieldReader.set_value(self, {name: value.as_text for name, value in part.entries()}, *self.role_path, key)
        self.notes.target(part, *self.role_path, key)
        for name, value in part.entries():
            if (name, value.as_text) in keys.ECI_NODE_LABELS.values():
                self.notes.target(value, *self.role_path, key, name)
                self.notes.target(value, *_ECI, "way")

    def _tolerations(self, key: str, part: Part) -> None:
        self.set_value(part.data, *self.role_path, key)
        taints = keys.ECI_TAINTS.values()
        nodes = [item for item in part.items() if (item.text_at("key"), item.text_at("value")) in taints]
        for item in nodes:
            self.notes.target(item, *_ECI, "way")
        for item in part.items() if nodes else [part]:
            self.notes.target(item, *self.role_path, key)

    def _service_account(self, _key: str, part: Part) -> None:
        if data_path.has(self.data, (*self.role_path, "serviceAccountName")):
            self.notes.reason(part, "the field is deprecated, and serviceAccountName is set as well")
        else:
            FieldReader.set_value(self, part.as_text, *self.role_path, "serviceAccountName")
            self.apply_row(part, _TOKEN)

    def _topology_spread(self, key: str, part: Part) -> None:
        self._affinity(key, part)
        for constraint in part.items():
            if constraint.get("labelSelector") is None:
                why = "without labelSelector, Kubernetes counts no pods; the imported job counts the pods of the role"
                self.notes.remark(constraint, why)

    def _affinity(self, key: str, part: Part) -> None:
        self.apply_row(part, carried(*_ROLE, KEY), key)
        self._report_operator_labels(part)

    def _report_operator_labels(self, part: Part) -> None:
        """Report each affinity term that selects a label of an operator, because the pods of tfgen lack such labels."""
        for scalar in part.leaves():
            names = [step for step in scalar.path if isinstance(step, str)]
            keys = [scalar.as_text] if names[-1:] == ["key"] else names[-1:] if names[-2:-1] == ["matchLabels"] else []
            for key in keys:
                why = f"tfgen or a controller sets the label {key}, so the selector may match no pod"
                if _OPERATOR_LABEL.match(key):
                    why = f"the selector uses the operator's label {key}, which pods of tfgen lack"
                if _OPERATOR_LABEL.match(key) or _is_reserved(key):
                    self.notes.remark(scalar, f"{why}; use the label tfgen/role")

    def _read_main_container(self, ports: Sequence[str | int], program: Program) -> None:
        name = self.main.get("name")
        if name and name.value != CONTAINER:
            why = f"in the imported job, the name of the container is {CONTAINER}"
            self.notes.reason(name, why, "changed", CONTAINER)
        readers: Fields = {
            **dict.fromkeys(("command", "args")),
            "env": lambda _, part: self._env(part, program),
            "ports": lambda _, part: self._ports(part, ports),
            "resources": self._resources,
            "securityContext": self._container_security,
        }
        if self.pod.restart_codes:
            readers = {**readers, **dict.fromkeys(_RESTARTS, carried(*RESTART_IN_PLACE, sets=False))}
        self.fields(self.main, {**_CONTAINER_FIELDS, **readers})

    def _resources(self, key: str, part: Part) -> None:
        self.set_value(read_resources(part, (*self.role_path, key), self.notes), *self.role_path, key)
        if claims := part.get("claims"):
            self.put(claims, plain_data(claims), *self.container_path, key, "claims")

    def _env(self, part: Part, program: Program) -> None:
        variables: dict[str, Any] = {}
        parts: dict[str, Part] = {}
        raw_items: list[Any] = []
        for item in part.items():
            name, value = item.text_at("name"), _variable(item, self.name)
            if name in _RUN_VARIABLES:
                self.notes.reason(item, "tfgen sets the value of this variable")
                continue
            if name in program.omitted:
                self.notes.reason(item, program.omitted[name], is_quiet=True)
                continue
            if name in parts:
                self.notes.reason(parts[name], f"the list contains {name} again, and the last entry applies")
            parts[name] = item
            if value is None:
                raw_items.append(item.data)
                self.notes.target(item, *self.container_path, "env")
            else:
                variables[name] = value
                self.notes.target(item, *self.role_path, "env", name)
        self.set_value(variables, *self.role_path, "env")
        if raw_items:
            self.set_value(raw_items, *self.container_path, "env")

    def _ports(self, part: Part, preferred: Sequence[str | int]) -> None:
        ports = list(part.items())
        fields = [(port, field) for key in ("name", "containerPort") for port in ports if (field := port.get(key))]
        main = next((port for port, field in fields if field.value in preferred), None)
        if main:
            self.pod = self.pod.replaced(port=main.get("containerPort"), port_name=main.text_at("name"))
            self.notes.target(main, "spec", "port")
        extra_ports = [port for port in ports if port is not main]
        for port in extra_ports:
            self.notes.target(port, *self.role_path, "ports")
        self.set_value([port.without(*_NODE_PORT_FIELDS).data for port in extra_ports], *self.role_path, "ports")
        if host_ports := [data for port in ports if (data := self._host_port(port))]:
            self.set_value(host_ports, *self.container_path, "ports")

    def _host_port(self, port: Part) -> dict[str, Any] | None:
        """Return the data of a port with hostPort or hostIP, for podTemplate. For any other port, return None.

        With hostNetwork, all ports are open on the node, so the result is None.
        """
        # In Kubernetes, hostPort 0 is the same as no hostPort.
        node_fields = {key: part for key in _NODE_PORT_FIELDS if (part := port.get(key)) and part.value != 0}
        network = self.template.get("spec", "hostNetwork")
        is_open = network is not None and network.value is True
        for part in node_fields.values():
            if is_open:
                self.notes.reason(part, "with hostNetwork, all ports of the pod are open on the node")
            else:
                self.notes.target(part, *self.container_path, "ports")
        if is_open or not node_fields:
            return None
        data = {"containerPort": port.value["containerPort"].value, "protocol": port.text_at("protocol") or "TCP"}
        return data | {key: part.value for key, part in node_fields.items()}

    def _container_security(self, _key: str, context: Part) -> None:
        # The fields of a role set the user of the whole pod, so they fit only a pod with a single container.
        containers = [c for key in ("containers", "initContainers") for c in self.template.items("spec", key)]
        users = dict.fromkeys(("runAsUser", "runAsGroup"), _SECURITY) if len(containers) == 1 else {}
        self.fields(context, {**_MAIN_SECURITY, **users})

    def _read_sidecars(self, volumes: ForeignVolumes) -> None:
        """Convert the init containers. Convert all containers except the main container to sidecars."""
        containers: dict[str, list[Any]] = {"initContainers": [], "sidecars": []}
        others = [item for item in self.template.items("spec", "containers") if item is not self.main]
        initial = [(c, c.text_at("restartPolicy") == "Always") for c in self.template.items("spec", "initContainers")]
        for container, is_sidecar in (*initial, *((item, True) for item in others)):
            key = "sidecars" if is_sidecar else "initContainers"
            containers[key].append(self._container_data(container, volumes))
            self.notes.target(container, *self.role_path, key)
        for container in others:
            why = "the container becomes a sidecar, which starts before the main container and stops after it"
            self.notes.reason(container, why, "changed")
        for key, items in containers.items():
            self.set_value(items, *self.role_path, key)

    def _container_data(self, container: Part, volumes: ForeignVolumes) -> Any:
        """Return the data of a sidecar or init container, with the new names of volumes.

        In job.yaml, readOnly belongs to the mount, and not to the claim.
        """
        data = container.data
        data.pop("restartPolicy", None)
        for mount in data.get("volumeMounts") or ():
            if mount["name"] in volumes.read_only:
                mount["readOnly"] = True
            mount["name"] = volumes.names.get(mount["name"], mount["name"])
        return data


def renamed(data: Any, field: str, old: str, new: Any) -> Any:
    """Return a copy of the data of a pod, with a new value for each field, at any depth, that has an old value.

    Example: the field `containerName` with the name of the main container, or `port` with the name of a port.
    """
    if isinstance(data, Mapping):
        return {
            key: new if key == field and value == old else renamed(value, field, old, new)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [renamed(item, field, old, new) for item in data]
    return data


HANDLERS: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
"""The fields of a container that may connect to a port of the container."""


def _restart_codes(container: Part) -> frozenset[int]:
    """Return the exit codes after which the kubelet restarts a container in its pod.

    If job.yaml does not support the restart rules of the container, the result is empty.
    https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restart-rules
    """
    codes = frozenset[int]()
    fields = container.data
    for rule in fields.get("restartPolicyRules") or ():
        match rule:
            case {"action": "Restart", "exitCodes": {"operator": "In", "values": [*values]}}:
                codes |= frozenset(values)
            case _:
                return frozenset()
    return codes if fields.get("restartPolicy") == "Never" else frozenset()


def _variable(item: Part, container: str) -> Any:
    """Return the value of an environment variable for ``env`` of job.yaml.

    If ``env`` does not support the source of the value, return None. `container` is the name of the variable's
    container.
    """
    source = item.get("valueFrom")
    if source is None:
        value = item.get("value")
        return value.as_text if value else ""
    data = source.data
    match data:
        case {"fieldRef": {"fieldPath": path, **options}} if options.keys() <= {"apiVersion"}:
            return {"fieldRef": {"fieldPath": path}}
        case {"resourceFieldRef": dict(field)} if field.get("containerName", container) == container:
            return {"resourceFieldRef": {key: value for key, value in field.items() if key != "containerName"}}
        case {"secretKeyRef": dict()} | {"configMapKeyRef": dict()}:
            return data
    return None


_WHY_PLACES: Final[Mapping[str, str]] = {
    keys.EXCLUSIVE_TOPOLOGY: "only workload.jobSet.exclusiveTopology has this effect; import with --workload JobSet",
    **dict.fromkeys(
        (keys.QUEUE, keys.QUEUE_PRIORITY, keys.REQUIRED_TOPOLOGY, keys.PREFERRED_TOPOLOGY),
        "only spec.gang with the scheduler kueue sets this key; import with --workload JobSet, and set spec.gang",
    ),
}
"""Labels and annotations that a user sets, and that decide where a pod runs -> reason for their loss."""


def _is_reserved(key: str) -> bool:
    """Return whether tfgen or a controller sets the label or annotation."""
    reserved = schema_file.target(schema_file.load(), "#/definitions/ownLabelKey")["not"]["anyOf"]
    return any(re.search(one["pattern"], key) for one in reserved)


def user_keys(part: Part, target: Path, notes: Notes) -> dict[str, str]:
    """Return the labels or annotations that the user set, without those of tools, controllers and tfgen.

    Args:
        part: all labels or annotations.
        target: the path of the labels or annotations in the job.
        notes: the notes of the import.
    """
    entries: dict[str, str] = {}
    helm_labels = _HELM_2_LABELS if part.get("heritage") else ()
    for key, value in part.entries():
        if key in helm_labels:
            why = "a Helm chart set the label on the manifest; the chart of tfgen sets its own labels"
            notes.reason(value, why, is_quiet=True)
        elif key in _WHY_PLACES:
            notes.reason(value, _WHY_PLACES[key])
        elif _is_reserved(key):
            notes.reason(value, "tfgen or a controller sets this label or annotation", is_quiet=True)
        else:
            entries[key] = value.as_text
            notes.target(value, *target, key)
    return entries


# -- volumes -------------------------------------------------------------------------------------------------------

_SHM: Final = "/dev/shm"  # noqa: S108 - a path in the pod
_TMP: Final = "/tmp"  # noqa: S108 - a path in the pod
_RESERVED_NAMES: Final = ("tmp", "shm")
"""Names of volumes that tfgen itself adds to pods. An imported volume with such a name gets a new name."""
_MOUNT_FIELDS: Final = ("name", "mountPath", "subPath", "subPathExpr", "readOnly")
"""Fields of a mount that ``storage`` supports."""


class ForeignVolumes:
    """The volumes of a pod template, converted to the fields of job.yaml.

    Attributes:
        storage: the volumes for ``storage`` by name, without the key ``for`` that lists the roles.
        role: {"shm": size} if the field ``shm`` of the role replaces a volume at /dev/shm; empty if not.
        volumes: the volumes that ``storage`` does not support, for podTemplate.
        mounts: the mounts of the main container that ``storage`` does not support, for podTemplate.
        names: the new name of each renamed volume, by the name in the foreign pod.
        read_only: the names of the volumes that all containers of the foreign pod mount read-only.
    """

    def __init__(self, template: Part, main: Part, role_path: Path, notes: Notes) -> None:
        self.notes, self.role_path = notes, role_path
        self.storage: dict[str, Any] = {}
        self.role: dict[str, Any] = {}
        self.volumes: list[Any] = []
        self.mounts: list[Any] = []
        sources = {item.text_at("name"): item for item in template.items("spec", "volumes") if item.get("name")}
        mounts = [item for item in main.items("volumeMounts") if item.get("name") and item.get("mountPath")]
        self.names = {name: f"{name}-volume" for name in sources if name in _RESERVED_NAMES}
        tmp = (m.text_at("name") for m in mounts if without_end_slash(m.text_at("mountPath")) == _TMP)
        self.names |= dict.fromkeys(tmp, _RESERVED_NAMES[0])
        flags = {name: source.get("persistentVolumeClaim", "readOnly") for name, source in sources.items()}
        self.read_only = [name for name, flag in flags.items() if flag and flag.value]
        sidecars = [c for key in ("containers", "initContainers") for c in template.items("spec", key) if c is not main]
        uses = [device for container in (main, *sidecars) for device in container.items("volumeDevices")]
        uses += [mount for container in sidecars for mount in container.items("volumeMounts")]
        self._other_uses = {use.text_at("name") for use in uses}
        for mount in mounts:
            if mount.text_at("name") not in sources:
                notes.refuse(mount, f"the pod has no volume {mount.text_at('name')}; add the volume")
        for name, source in sources.items():
            self._volume(name, source, [mount for mount in mounts if mount.text_at("name") == name])

    def _volume(self, name: str, source: Part, mounts: Sequence[Part]) -> None:
        if not mounts and name not in self._other_uses:
            self.notes.reason(source, "no container mounts this volume", is_quiet=True)
            return
        is_raw = not mounts or any(key not in _MOUNT_FIELDS for key, _ in mounts[0].entries())
        storage_source = None if is_raw else _storage_source(source)
        if storage_source and self._is_built_in(name, source, storage_source, mounts):
            return
        job_name = self.names.get(name, name)
        is_tmp = job_name == _RESERVED_NAMES[0]
        if storage_source is None or is_tmp:
            # The patch of the pod template replaces the source of tfgen's own volume at /tmp.
            own = {"emptyDir": None} if is_tmp and "emptyDir" not in source.data else {}
            self.volumes.append({**source.data, "name": job_name, **own})
            self.notes.target(source, *self.role_path, "podTemplate", "spec", "volumes")
            for mount in mounts:
                self._raw_mount(mount)
            return
        # An entry of storage has a single mount path. The second and later mounts go to podTemplate.
        first, *extra_mounts = mounts
        entry: dict[str, Any] = {"mountPath": without_end_slash(first.text_at("mountPath"))}
        entry |= {key: first.data[key] for key in ("subPath", "subPathExpr") if first.data.get(key)}
        if first.data.get("readOnly") or name in self.read_only:
            entry["readOnly"] = True
        target = (*self.role_path, "storage", job_name)
        self.storage[job_name] = {**entry, **storage_source}
        if claim := source.get("persistentVolumeClaim", "readOnly"):
            self.notes.target(claim, *target, "readOnly")
        self.notes.target(source, *target)
        self.notes.target(first, *target, "mountPath")
        for mount in extra_mounts:
            self._raw_mount(mount, {"readOnly": True} if name in self.read_only else {})

    def _is_built_in(self, name: str, source: Part, storage_source: Mapping[str, Any], mounts: Sequence[Part]) -> bool:
        """Test whether tfgen adds the same volume to the pods, so that ``storage`` omits the volume.

        Such a volume is an emptyDir at /tmp, or an emptyDir in memory at /dev/shm, which sets the field ``shm`` of the
        role.
        """
        is_plain = {key for key, part in mounts[0].entries() if part.value is not False} <= {"name", "mountPath"}
        if "emptyDir" not in storage_source or len(mounts) > 1 or name in self._other_uses or not is_plain:
            return False
        folder, mount_path = storage_source["emptyDir"], without_end_slash(mounts[0].text_at("mountPath"))
        if mount_path == _TMP and not folder.get("medium"):
            return True
        if mount_path == _SHM and folder.get("medium") == "Memory" and folder.get("sizeLimit"):
            self.role["shm"] = folder["sizeLimit"]
            for part in (source.value["emptyDir"].value["sizeLimit"], source, mounts[0]):
                self.notes.target(part, *self.role_path, "shm")
            return True
        return False

    def _raw_mount(self, mount: Part, access: Mapping[str, Any] = EMPTY) -> None:
        path, name = without_end_slash(mount.text_at("mountPath")), mount.text_at("name")
        self.mounts.append({**mount.data, "name": self.names.get(name, name), "mountPath": path, **access})
        self.notes.target(mount, *self.role_path, "podTemplate", "spec", "containers", 0, "volumeMounts")


def volume_name(path: str) -> str:
    """Return a name for a volume, made from its mount path. Example: `data-train` for the path /data/train."""
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "data"


def without_end_slash(path: str) -> str:
    """Remove the slashes at the end of a path, because Kubernetes ignores these slashes."""
    return path.rstrip("/") or "/"


def _storage_source(source: Part) -> dict[str, Any] | None:
    """Convert the source of a volume to fields of ``storage``, or return None for an unsupported source."""
    kinds = dict(source.without("name").entries())
    if len(kinds) != 1:
        return None if kinds else {"emptyDir": {}}
    ((kind, part),) = kinds.items()
    if kind == "persistentVolumeClaim":
        return {"claim": {"name": part.text_at("claimName")}} if part.get("claimName") else None
    node = schema_file.node(schema_file.load(), ("spec", "storage", "volume", kind))
    data = plain_data(part)
    if node is None or kind in ("mountPath", "for", "claim") or not data.keys() <= node.get("properties", {}).keys():
        return None
    if kind == "hostPath":
        data["path"] = without_end_slash(data.get("path", ""))
    return {kind: data}


# -- resources -----------------------------------------------------------------------------------------------------

NVIDIA_GPU: Final = "nvidia.com/gpu"
ALPHA_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"
"""The resource name of NVIDIA GPUs before Kubernetes 1.10."""
_GPUS: Final = (NVIDIA_GPU, "amd.com/gpu", "gpu.intel.com/i915")

_LARGEST: Final = 999_999
"""The largest amount that the import writes as a number. A larger amount becomes a quoted string."""


def read_resources(part: Part, target: Path, notes: Notes) -> dict[str, Any]:
    """Convert the requests and limits of a container to the ``resources`` of a role.

    For example, the limits ``{cpu: 4, nvidia.com/gpu: 1}`` with the requests ``{cpu: 4, memory: 8Gi}`` become
    ``{cpu: 4, requests: {memory: 8Gi}, gpu: {count: 1}}``.
    """
    requests, limits = dict(part.entries("requests")), dict(part.entries("limits"))
    data: dict[str, Any] = {"requests": {}, "limits": {}}

    def put(path: Path, *parts: Part | None) -> None:
        for amount in filter(None, parts):
            notes.target(amount, *target, *path)

    for name in dict.fromkeys((*limits, *requests)):
        request, limit = requests.get(name), limits.get(name)
        is_same = bool(limit and (request is None or _is_equal(request, limit)))
        if name in (*_GPUS, ALPHA_GPU) and _is_count(limit or request) and "gpu" not in data:
            put(("gpu", "count"), request, limit)
            for amount in filter(None, (request, limit) if name == ALPHA_GPU else ()):
                notes.reason(amount, f"Kubernetes 1.10 renamed the resource to {NVIDIA_GPU}", "changed")
            gpu = {} if name in (NVIDIA_GPU, ALPHA_GPU) else {"resource": name}
            if count := int((limit or request or part).as_text):
                data["gpu"] = {"count": count, **gpu}
        elif name in ("cpu", "memory") and limit and is_same:
            data[name] = _amount(limit)
            put((name,), request, limit)
        else:
            if limit:
                data["limits"][name] = _amount(limit)
                put(("limits", name), limit)
            if request and not (is_same and "/" in name):
                data["requests"][name] = _amount(request)
                put(("requests", name), request)
            elif request:
                put(("limits", name), request)
    for key, field in part.entries():
        if key not in ("claims", "requests", "limits"):
            notes.reason(field, "job.yaml has only requests, limits and claims")
    order = ("cpu", "memory", "requests", "limits", "gpu")
    return {key: data[key] for key in order if data.get(key)}


def _is_count(part: Part | None) -> bool:
    return part is not None and part.as_text.isdecimal() and len(part.as_text) < 8


def _amount(part: Part) -> int | str:
    return int(part.as_text) if _is_count(part) and int(part.as_text) <= _LARGEST else part.as_text


def _is_equal(request: Part, limit: Part) -> bool:
    try:
        return quantity.parse(request.as_text) == quantity.parse(limit.as_text)
    except ValueError:
        return request.as_text == limit.as_text
