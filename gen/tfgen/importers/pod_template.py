"""Converter of a foreign pod template to the fields of a role in job.yaml.

A setting without a field in a role goes into ``podTemplate``. Settings of the whole job, such as the scheduler, the
port and the rights, are separate attributes of `PodData`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.importers import eci, resources, volumes
from tfgen.importers.eci import Instance
from tfgen.importers.fields import KEY, ROLE, FieldReader, Fields, Row, carried, changed, dropped
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.importers.shapes import ANY_KEY
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
_ROLE_FIELD: Final = carried(*_ROLE, KEY)
_POD_FIELD: Final = carried(*_POD, KEY)


def _kubernetes_defaults(*target: str | int, **values: Any) -> dict[str, Row]:
    """Return table rows by field name. The import omits a field whose value is the default of Kubernetes.

    Args:
        target: the path of the mapping in the job that gets a field with any other value.
        values: the default of each field in Kubernetes, such as `hostNetwork=False`.
    """
    return {
        key: carried(*target, KEY, default=value, why_default="Kubernetes' default") for key, value in values.items()
    }


def _tfgen_defaults(*target: str | int, **values: Any) -> dict[str, Row]:
    """Return table rows by field name. The import omits a field if tfgen sets the same value in each pod.

    Args:
        target: the path of the mapping in the job that gets a field with any other value.
        values: the value of each field in the pods of tfgen, such as `enableServiceLinks=False`.
    """
    return {key: carried(*target, KEY, default=value) for key, value in values.items()}


def _copied(key: str) -> Row:
    """Return the table row for a field that a key of the role sets. The import omits a field with the key's default."""
    return carried(*_ROLE, KEY, default=tunables.at((key,)).default, why_default="Kubernetes' default")


_SPEC: Final[Fields] = {
    **dict.fromkeys(("nodeName", "terminationGracePeriodSeconds", "tolerations"), _ROLE_FIELD),
    **dict.fromkeys(("dnsConfig", "hostAliases", "hostUsers", "hostnameOverride", "os", "overhead"), _POD_FIELD),
    **dict.fromkeys(
        ("preemptionPolicy", "readinessGates", "resourceClaims", "resources", "schedulingGates"), _POD_FIELD
    ),
    **_kubernetes_defaults(*_POD, dnsPolicy="ClusterFirst", hostIPC=False, hostNetwork=False, hostPID=False),
    **_kubernetes_defaults(*_POD, setHostnameAsFQDN=False, shareProcessNamespace=False),
    **_tfgen_defaults(*_POD, automountServiceAccountToken=False, enableServiceLinks=False),
    **{key: _copied(key) for key in COPIED},
    "activeDeadlineSeconds": dropped(
        "the limit applies to one pod; set spec.deadline, which limits the task that ends the job"
    ),
    "ephemeralContainers": dropped("ephemeral containers exist only in a running pod, for debugging"),
    "hostname": dropped("tfgen sets the host name of each task"),
    "priority": dropped("Kubernetes computes the number from priorityClassName"),
    "subdomain": dropped("tfgen sets the subdomain to the Service of the job"),
}
"""The conversion of each field of a pod spec.

Defaults: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/.
"""
_CONTAINER_FIELDS: Final[Fields] = {
    **dict.fromkeys(("name", "volumeMounts")),
    **dict.fromkeys(("image", "imagePullPolicy", "workingDir", "envFrom"), _ROLE_FIELD),
    **_kubernetes_defaults(*_MAIN, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File"),
    ANY_KEY: carried(*_MAIN, KEY),
}
"""The conversion of each field of the main container."""
_SECURITY: Final = carried(*_ROLE, "security", KEY)
_PROFILE: Final = {"type": "RuntimeDefault"}
_POD_SECURITY: Final[Fields] = {
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _SECURITY),
    **_tfgen_defaults(*_POD, "securityContext", fsGroupChangePolicy="OnRootMismatch", seccompProfile=_PROFILE),
    ANY_KEY: carried(*_POD, "securityContext", KEY),
}
_CONTEXT: Final = (*_MAIN, "securityContext")
_MAIN_SECURITY: Final[Fields] = {
    "readOnlyRootFilesystem": _SECURITY,
    **_tfgen_defaults(*_CONTEXT, allowPrivilegeEscalation=False, privileged=False, seccompProfile=_PROFILE),
    **_tfgen_defaults(*_CONTEXT, capabilities={"drop": ["ALL"]}),
    ANY_KEY: carried(*_CONTEXT, KEY),
}
_SCHEDULER: Final = "default-scheduler"
_TOKEN: Final = changed(
    *_ROLE,
    "serviceAccountName",
    why="tfgen does not mount the token; for a program that calls the API server, set "
    "podTemplate: {spec: {automountServiceAccountToken: true}}",
)
_OPERATOR_LABEL: Final = re.compile(
    r"(training\.kubeflow\.org|volcano\.sh|batch\.kubernetes\.io|jobset\.sigs\.k8s\.io)/"
    r"|tf[-_]job|tf-replica|group[-_]name$|job[-_](name|role|type)$|replica-(index|type)$|runtime_id$|task_index$"
)
"""Pattern for the keys of labels that operators add to their pods. The pods of tfgen do not have these labels."""

_WHY_PULL_SECRETS: Final = "in job.yaml, all roles share one list of imagePullSecrets"
"""The reason in the import report for a pod that gets an additional pull secret."""

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
        port: the part of the source that sets TensorFlow's port, or None.
        scheduler: the part of the source that names a scheduler other than the default, or None.
        restart_codes: the exit codes after which the kubelet restarts the main container in its pod.
        instance: the settings of the cloud's instances.
    """

    role: Mapping[str, Any]
    storage: Mapping[str, Any]
    pull_secrets: Sequence[str]
    security: Mapping[str, Any]
    port: Part | None
    scheduler: Part | None
    restart_codes: frozenset[int] = frozenset()
    instance: Instance = Instance()


def join_pull_secrets(pods: Sequence[PodData], report: ImportReport) -> list[str]:
    """Return the names of the pull secrets of all pods. Report a change for each pod that gets an additional secret."""
    names = list(dict.fromkeys(name for pod in pods for name in pod.pull_secrets))
    if any({*pod.pull_secrets} < {*names} for pod in pods):
        report.change_target(PULL_SECRETS, _WHY_PULL_SECRETS)
    return names


def main_container(template: Part) -> Part | None:
    """Return the main container: the container named tensorflow, or the first container."""
    containers = [item for item in template.items("spec", "containers") if isinstance(item.value, Mapping)]
    by_name = (item for item in containers if (name := item.get("name")) and name.value == CONTAINER)
    return next(by_name, containers[0] if containers else None)


def translate(
    template: Part, role: str, report: ImportReport, ports: Sequence[str | int], program: Program
) -> PodData | None:
    """Convert a pod template to the fields of a role. Return None if the import report has problems.

    Args:
        template: a PodTemplateSpec.
        role: the role of the pods.
        report: the import report, which gets the outcome of each line.
        ports: the names and numbers that TensorFlow's port may have, in order of preference.
        program: the program without the TensorFlow cluster configuration.
    """
    valid = valid_template(template, report)
    if valid is None:
        return None
    template, instance = eci.extract_instance(valid)
    main = main_container(template)
    if main is None:
        report.refuse(template, "the pod template has no container; add a container")
        return None
    pod = _PodReader(template, main, role, report).pod_data(ports, program)
    for part, path, _ in instance.parts:
        report.carry(part, "spec", "roles", role, "cloud", *path)
    return pod.replaced(instance=instance)


def valid_template(template: Part, report: ImportReport) -> Part | None:
    """Return the template without unknown fields. If a field has a wrong type, report a problem and return None."""
    is_valid = True
    valid = template

    def at(path: Sequence[str | int]) -> Part | None:
        part: Any = template
        for step in path:
            part = part.value[step]
        return part if isinstance(part, Part) else None

    def text(path: Sequence[str | int]) -> str:
        part = at(path)
        return (part.text if part else None) or ""

    for misfit in kubernetes_fields.misfits((), volumes.plain_data(template, keeps_null=True), "PodTemplateSpec", text):
        part = at(misfit.path)
        if part is None:
            continue
        if misfit.mistake == "shape":
            report.refuse(part, misfit.message.partition(": ")[2] or misfit.message)
            is_valid = False
        else:
            report.drop(part, f"{misfit.message}; Kubernetes drops this field as well")
            valid = valid.without_path(misfit.path)
    return valid if is_valid else None


class _PodReader(FieldReader):
    """Reader of a pod template."""

    def __init__(self, template: Part, main: Part, role: str, report: ImportReport) -> None:
        super().__init__(report, role)
        self.template, self.main = template, main
        self.name = main.text_at("name")
        self.role_path: Path = ("spec", "roles", role)
        self.pod_path: Path = (*self.role_path, "podTemplate", "spec")
        self.container_path: Path = (*self.pod_path, "containers", 0)
        self.pull_secrets: list[str] = []
        self.port: Part | None = None
        self.scheduler: Part | None = None
        self.restart_codes = _restart_codes(main)

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set the value at a path of the role. Skip an empty value for a top-level field of the role."""
        if path[:-1] != self.role_path or value not in ("", [], {}):
            super().set_value(value, *path)

    def pod_data(self, ports: Sequence[str | int], program: Program) -> PodData:
        """Convert all fields of the pod template, and return the result."""
        for key, part in self.template.entries("metadata"):
            if key in ("labels", "annotations"):
                self.set_value(user_keys(part, (*self.role_path, key), self.report), *self.role_path, key)
            else:
                self.report.drop(part, "tfgen sets the name and the namespace of each pod")
        self._read_main_container(ports, program)
        for key in ("command", "args"):
            # A script in args may become a command without args.
            self.set_value(list(getattr(program, key) or ()), *self.role_path, key)
        volume_data = volumes.translate(self.template, self.main, self.role_path, self.report)
        for key, value in volume_data.role.items():
            self.set_value(value, *self.role_path, key)
        if volume_data.mounts:
            self.set_value(list(volume_data.mounts), *self.container_path, "volumeMounts")
        if volume_data.volumes:
            self.set_value(with_container(volume_data.volumes, self.name), *self.pod_path, "volumes")
        self._read_spec()
        self._read_sidecars(volume_data.names)
        role = data_path.at(self.data, self.role_path) or {}
        security = role.pop("security", {})
        if pod := role.pop("podTemplate", None):
            containers = pod["spec"].pop("containers", None)
            main = {"containers": [{"name": CONTAINER, **containers[0]}]} if containers else {}
            role["podTemplate"] = {"spec": {**pod["spec"], **main}}
        storage = with_container(volume_data.storage, self.name)
        return PodData(role, storage, self.pull_secrets, security, self.port, self.scheduler, self.restart_codes)

    def _read_spec(self) -> None:
        readers: Fields = {
            "affinity": self._affinity,
            "imagePullSecrets": self._pull_secrets,
            "schedulerName": self._scheduler,
            "securityContext": lambda _, part: self.fields(part, _POD_SECURITY),
            "nodeSelector": self._node_selector,
            **dict.fromkeys(("serviceAccount", "serviceAccountName"), self._service_account),
            "topologySpreadConstraints": self._topology_spread,
        }
        self.fields(self.template.get("spec"), {**_SPEC, **readers})

    def _scheduler(self, _key: str, part: Part) -> None:
        if part.value == _SCHEDULER:
            self.report.carry(part, why="Kubernetes' default")
        else:
            self.scheduler = part

    def _pull_secrets(self, _key: str, part: Part) -> None:
        self.pull_secrets += [name.as_text for item in part.items() if (name := item.get("name"))]
        self.report.carry(part, *PULL_SECRETS)

    def _node_selector(self, key: str, part: Part) -> None:
        super().set_value({name: value.as_text for name, value in part.entries()}, *self.role_path, key)
        self.report.carry(part, *self.role_path, key)

    def _service_account(self, _key: str, part: Part) -> None:
        if data_path.has(self.data, (*self.role_path, "serviceAccountName")):
            self.report.drop(part, "the field is deprecated, and serviceAccountName is set as well")
        else:
            super().set_value(part.as_text, *self.role_path, "serviceAccountName")
            self.apply_row(part, _TOKEN._replace(sets=False))

    def _topology_spread(self, key: str, part: Part) -> None:
        self._affinity(key, part)
        for constraint in part.items():
            if constraint.get("labelSelector") is None:
                why = "without labelSelector, Kubernetes counts no pods; the imported job counts the pods of the role"
                self.report.note(constraint, why)

    def _affinity(self, key: str, part: Part) -> None:
        self.apply_row(part, _ROLE_FIELD, key)
        self._report_operator_labels(part)

    def _report_operator_labels(self, part: Part) -> None:
        """Report each affinity term that selects a label of an operator, because the pods of tfgen lack such labels."""
        for scalar in part.leaves():
            names = [step for step in scalar.path if isinstance(step, str)]
            keys = [scalar.as_text] if names[-1:] == ["key"] else names[-1:] if names[-2:-1] == ["matchLabels"] else []
            for key in keys:
                if _OPERATOR_LABEL.match(key):
                    uses = f"the selector uses the operator's label {key}, which pods of tfgen lack"
                    why = f"{uses}; use the label tfgen/role"
                    self.report.note(scalar, why)

    def _read_main_container(self, ports: Sequence[str | int], program: Program) -> None:
        if name := self.main.get("name"):
            self.report.mark_read(name)
            if name.value != CONTAINER:
                self.report.note(name, f"in the imported job, the name of the container is {CONTAINER}")
        # A changed command is already in the import report: `read_pod` adds the entry.
        arguments = self._arguments if program.command is None else None
        readers: Fields = {
            **dict.fromkeys(("command", "args"), arguments),
            "env": lambda _, part: self._env(part, program),
            "ports": lambda _, part: self._ports(part, ports),
            "resources": lambda key, part: self.set_value(
                resources.translate(part, (*self.role_path, key), self.report), *self.role_path, key
            ),
            "securityContext": self._container_security,
            **(dict.fromkeys(_RESTARTS, carried(*RESTART_IN_PLACE, sets=False)) if self.restart_codes else {}),
        }
        self.fields(self.main, {**_CONTAINER_FIELDS, **readers})

    def _arguments(self, key: str, part: Part) -> None:
        self.set_value(part.texts_at(), *self.role_path, key)
        self.report.carry(part, *self.role_path, key)

    def _env(self, part: Part, program: Program) -> None:
        variables: dict[str, Any] = {}
        parts: dict[str, Part] = {}
        raw_items: list[Any] = []
        for item in part.items():
            name = item.get("name")
            if name is None:
                continue
            if name.as_text in _RUN_VARIABLES:
                self.report.drop(item, "tfgen sets the value of this variable")
                continue
            if name.as_text in program.omitted:
                self.report.drop(item, program.omitted[name.as_text])
                continue
            if name.as_text in parts:
                self.report.drop(
                    parts[name.as_text], f"the list contains {name.as_text} again, and the last entry applies"
                )
            parts[name.as_text] = item
            value = _variable(item, self.name)
            if value is None:
                raw_items.append(item.data)
                self.report.carry(item, *self.container_path, "env")
                continue
            variables[name.as_text] = value
            self.report.carry(item, *self.role_path, "env", name.as_text)
        self.set_value(variables, *self.role_path, "env")
        if raw_items:
            self.set_value(raw_items, *self.container_path, "env")

    def _ports(self, part: Part, preferred: Sequence[str | int]) -> None:
        ports = list(part.items())
        fields = [(port, field) for key in ("name", "containerPort") for port in ports if (field := port.get(key))]
        main = next((port for port, field in fields if field.value in preferred), None)
        extra_ports = []
        for port in ports:
            if port is main:
                self.port = port.get("containerPort")
                self.report.carry(port, "spec", "port")
            else:
                extra_ports.append(port.without(*_NODE_PORT_FIELDS).data)
                self.report.carry(port, *self.role_path, "ports")
        self.set_value(extra_ports, *self.role_path, "ports")
        if host_ports := [data for port in ports if (data := self._host_port(port))]:
            self.set_value(host_ports, *self.container_path, "ports")

    def _host_port(self, port: Part) -> dict[str, Any] | None:
        """Return the data of a port with hostPort or hostIP, for podTemplate. For any other port, return None.

        With hostNetwork, all ports are open on the node, so the result is None. Add hostPort and hostIP to the import
        report.
        """
        # In Kubernetes, hostPort 0 is the same as no hostPort.
        node_fields = {key: part for key in _NODE_PORT_FIELDS if (part := port.get(key)) and part.value != 0}
        network = self.template.get("spec", "hostNetwork")
        if network and network.value is True:
            for part in node_fields.values():
                self.report.drop(part, "with hostNetwork, all ports of the pod are open on the node")
            return None
        for part in node_fields.values():
            self.report.carry(part, *self.container_path, "ports")
        if not node_fields:
            return None
        data = {"containerPort": port.value["containerPort"].value, "protocol": port.text_at("protocol") or "TCP"}
        return data | {key: part.value for key, part in node_fields.items()}

    def _container_security(self, _key: str, context: Part) -> None:
        # The fields of a role set the user of the whole pod, so they fit only a pod with a single container.
        users = dict.fromkeys(("runAsUser", "runAsGroup"), _SECURITY) if self._has_single_container() else {}
        self.fields(context, {**_MAIN_SECURITY, **users})

    def _has_single_container(self) -> bool:
        return sum(1 for key in ("containers", "initContainers") for _ in self.template.items("spec", key)) == 1

    def _read_sidecars(self, names: Mapping[str, str]) -> None:
        """Convert the init containers. Convert all containers except the main container to sidecars.

        `names` contains the new name of each volume that the import renames.
        """
        containers: dict[str, list[Any]] = {"initContainers": [], "sidecars": []}
        for container in self.template.items("spec", "initContainers"):
            policy = container.get("restartPolicy")
            key = "sidecars" if policy and policy.value == "Always" else "initContainers"
            containers[key].append(self._container_data(container, names))
            self.report.carry(container, *self.role_path, key)
        for container in self.template.items("spec", "containers"):
            if container is not self.main:
                containers["sidecars"].append(self._container_data(container, names))
                why = "the container becomes a sidecar, which starts before the main container and stops after it"
                self.report.change(container, *self.role_path, "sidecars", why=why)
        for key, items in containers.items():
            self.set_value(items, *self.role_path, key)

    def _container_data(self, container: Part, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the data of a sidecar or init container, with the new names of volumes and of the main container.

        `names` contains the new name of each volume that the import renames.
        """
        data = container.data
        data.pop("restartPolicy", None)
        if mounts := data.get("volumeMounts"):
            data["volumeMounts"] = [{**m, "name": names.get(m.get("name"), m.get("name"))} for m in mounts]
        renamed: dict[str, Any] = with_container(data, self.name)
        return renamed


def with_container(data: Any, name: str) -> Any:
    """Return a copy of `data` in which each reference to the main container uses the name of this container in tfgen.

    Args:
        data: any data of a pod, such as a volume with the field `containerName`.
        name: the name of the main container in the foreign pod.
    """
    if isinstance(data, Mapping):
        return {
            key: CONTAINER if key == "containerName" and value == name else with_container(value, name)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [with_container(item, name) for item in data]
    return data


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


def user_keys(part: Part, target: Path, report: ImportReport) -> dict[str, str]:
    """Return the labels or annotations that the user set. Report all other labels or annotations as dropped.

    Args:
        part: all labels or annotations.
        target: the path of the labels or annotations in the job, for the import report.
        report: the import report.
    """
    reserved = schema_file.target(schema_file.load(), "#/definitions/ownLabelKey")["not"]["pattern"]
    entries: dict[str, str] = {}
    helm_labels = _HELM_2_LABELS if part.get("heritage") else ()
    for key, value in part.entries():
        if key in helm_labels:
            report.drop(value, "a Helm chart set the label on the manifest; the chart of tfgen sets its own labels")
        elif re.search(reserved, key):
            report.drop(value, "tfgen or a controller sets this label or annotation")
        else:
            entries[key] = value.as_text
            report.carry(value, *target, key)
    return entries
