"""A foreign pod template in the words of a role of job.yaml.

What a role has no word for goes into its ``podTemplate``, in Kubernetes' own words. What stands in the template but
is not a role's to say (its scheduler, its port, its rights) is given beside the role.
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
from tfgen.schema import kubernetes_fields

CONTAINER: Final = "tensorflow"
"""The main container's name: that which Kubeflow's operator asks for."""

PORT: Final = 2222
"""TensorFlow's port, unless something else is said."""

RESTART_POLICY: Final = ("spec", "restartPolicy")
"""Where a pod template has it. tfgen says it itself."""

_AT: Final = ("spec", "roles", ROLE)
_POD: Final = (*_AT, "podTemplate", "spec")
_MAIN: Final = (*_POD, "containers", 0)
_OF_ROLE: Final = carried(*_AT, KEY)
_OF_POD: Final = carried(*_POD, KEY)


def _by_default(*target: str | int, **values: Any) -> dict[str, Row]:
    """Return rows of fields with their defaults in Kubernetes."""
    return {
        key: carried(*target, KEY, default=value, why_default="Kubernetes' default") for key, value in values.items()
    }


def _as_tfgen(*target: str | int, **values: Any) -> dict[str, Row]:
    """Return rows of fields with the values that tfgen's pods have."""
    return {key: carried(*target, KEY, default=value) for key, value in values.items()}


_SPEC: Final[Fields] = {
    **dict.fromkeys(("nodeName", "priorityClassName", "runtimeClassName", "tolerations"), _OF_ROLE),
    **dict.fromkeys(("dnsConfig", "hostAliases", "hostUsers", "hostnameOverride", "os", "overhead"), _OF_POD),
    **dict.fromkeys(("preemptionPolicy", "readinessGates", "resourceClaims", "resources", "schedulingGates"), _OF_POD),
    **_by_default(*_POD, dnsPolicy="ClusterFirst", hostIPC=False, hostNetwork=False, hostPID=False),
    **_by_default(*_POD, setHostnameAsFQDN=False, shareProcessNamespace=False),
    **_as_tfgen(*_POD, automountServiceAccountToken=False, enableServiceLinks=False),
    "activeDeadlineSeconds": dropped("the limit of one pod; set deadline, which holds for the task that ends the job"),
    "ephemeralContainers": dropped("they are for looking into a pod that runs"),
    "hostname": dropped("each task has a host name of its own"),
    "priority": dropped("priorityClassName says it"),
    "subdomain": dropped("the tasks have a Service of their own"),
}
"""The fields of a pod.

Defaults: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/.
"""
_CONTAINER_FIELDS: Final[Fields] = {
    **dict.fromkeys(("name", "volumeMounts")),
    **dict.fromkeys(("image", "imagePullPolicy", "workingDir", "envFrom"), _OF_ROLE),
    **_by_default(*_MAIN, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File"),
    ANY_KEY: carried(*_MAIN, KEY),
}
"""The fields of the main container."""
_SECURITY: Final = carried(*_AT, "security", KEY)
_PROFILE: Final = {"type": "RuntimeDefault"}
_POD_SECURITY: Final[Fields] = {
    **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _SECURITY),
    **_as_tfgen(*_POD, "securityContext", fsGroupChangePolicy="OnRootMismatch", seccompProfile=_PROFILE),
    ANY_KEY: carried(*_POD, "securityContext", KEY),
}
_CONTEXT: Final = (*_MAIN, "securityContext")
_MAIN_SECURITY: Final[Fields] = {
    "readOnlyRootFilesystem": _SECURITY,
    **_as_tfgen(*_CONTEXT, allowPrivilegeEscalation=False, privileged=False, seccompProfile=_PROFILE),
    **_as_tfgen(*_CONTEXT, capabilities={"drop": ["ALL"]}),
    ANY_KEY: carried(*_CONTEXT, KEY),
}
_SCHEDULER: Final = "default-scheduler"
_TOKEN: Final = changed(
    *_AT,
    "serviceAccountName",
    why="its token is not mounted; a program that calls the API server needs "
    "podTemplate: {spec: {automountServiceAccountToken: true}}",
)
_OF_OPERATORS: Final = re.compile(
    r"(training\.kubeflow\.org|volcano\.sh|batch\.kubernetes\.io|jobset\.sigs\.k8s\.io)/"
    r"|tf[-_]job|tf-replica|group[-_]name$|job[-_](name|role|type)$|replica-(index|type)$|runtime_id$|task_index$"
)
"""Keys of labels that controllers put on their pods. An affinity that looks for them finds no pod of tfgen's."""

_WHY_PULL_SECRETS: Final = "a job has one list of imagePullSecrets for all roles"
"""The reason for an imagePullSecrets that the foreign pod lacks."""

_OF_THE_HOST: Final = ("hostIP", "hostPort")
"""What a port says of the node."""

_OF_RUNS: Final = ("TFGEN_RUN", "TFGEN_RUN_FOLDER")
"""Variables of a job that tfgen rendered."""
PULL_SECRETS: Final = ("spec", "imagePullSecrets")
"""The path of the pull secrets in a job."""
_OF_CHARTS: Final = ("chart", "heritage", "release")
"""Labels that charts for Helm 2 put on all objects: https://v2.helm.sh/docs/chart_best_practices/#standard-labels."""


class Program(Record):
    """What runs in the main container, where a reader has taken something off the command.

    Attributes:
        command: program and first arguments, without what told the task its place.
        args: the arguments after it.
        omitted: variables that are not carried, and why.
    """

    command: Sequence[str] | None = None
    args: Sequence[str] | None = None
    omitted: Mapping[str, str] = EMPTY


class PodData(Record):
    """A pod template, translated.

    Attributes:
        role: the keys of a role.
        storage: the volumes that the main container mounts, by name.
        pull_secrets: the Secrets that images are pulled with.
        security: the keys of ``security`` that the template asks for.
        port: where TensorFlow's port is said.
        scheduler: where another scheduler than Kubernetes' own is named.
        instance: what it says of the cloud's instances that the pods run on.
    """

    role: Mapping[str, Any]
    storage: Mapping[str, Any]
    pull_secrets: Sequence[str]
    security: Mapping[str, Any]
    port: Part | None
    scheduler: Part | None
    instance: Instance = Instance()


def join_pull_secrets(pods: Sequence[PodData], report: ImportReport) -> list[str]:
    """Return the Secrets of all pods of a job, and report them as changed where a pod has fewer."""
    names = list(dict.fromkeys(name for pod in pods for name in pod.pull_secrets))
    if any({*pod.pull_secrets} < {*names} for pod in pods):
        report.change_target(PULL_SECRETS, _WHY_PULL_SECRETS)
    return names


def main_container(template: Part) -> Part | None:
    """The container of the program: the one named tensorflow, or else the first."""
    containers = [item for item in template.items("spec", "containers") if isinstance(item.value, Mapping)]
    named = (item for item in containers if (name := item.get("name")) and name.value == CONTAINER)
    return next(named, containers[0] if containers else None)


def translate(
    template: Part, role: str, report: ImportReport, ports: Sequence[str | int], program: Program
) -> PodData | None:
    """The pod template in a role's words; None where it has no container, or a field is of another type.

    Args:
        template: a PodTemplateSpec.
        role: the role that it becomes.
        report: what becomes of each of its lines.
        ports: the names and the number of TensorFlow's port, in order of preference.
        program: what runs, where it is not what the template says.
    """
    shaped_template = shaped(template, report)
    if shaped_template is None:
        return None
    template, instance = eci.take(shaped_template)
    main = main_container(template)
    if main is None:
        report.refuse(template, "the pod template has no container")
        return None
    pod = _Translation(template, main, role, report).pod_data(ports, program)
    for part, path, _ in instance.parts:
        report.carry(part, "spec", "roles", role, "cloud", *path)
    return pod.replaced(instance=instance)


def shaped(template: Part, report: ImportReport) -> Part | None:
    """The template without what Kubernetes does not know; None where a field is of another type than Kubernetes'."""
    fits = True
    known = template

    def at(path: Sequence[str | int]) -> Part | None:
        part: Any = template
        for step in path:
            part = part.value[step]
        return part if isinstance(part, Part) else None

    def text(path: Sequence[str | int]) -> str:
        part = at(path)
        return (part.text if part else None) or ""

    for misfit in kubernetes_fields.misfits((), _lenient(template), "PodTemplateSpec", text):
        part = at(misfit.path)
        if part is None:
            continue
        if misfit.mistake == "shape":
            report.refuse(part, misfit.message.partition(": ")[2] or misfit.message)
            fits = False
        else:
            report.drop(part, f"{misfit.message}; Kubernetes drops it, too")
            known = known.without_path(misfit.path)
    return known if fits else None


def _lenient(part: Part) -> Any:
    """The data with numbers where Kubernetes' own reader, which is one of YAML 1.1, has them, and text as text."""
    if isinstance(part.value, Mapping):
        return {key: _lenient(inner) for key, inner in part.value.items()}
    if isinstance(part.value, list):
        return [_lenient(inner) for inner in part.value]
    return volumes.octal_value(part)


class _Translation(FieldReader):
    """The translation of one pod template."""

    def __init__(self, template: Part, main: Part, role: str, report: ImportReport) -> None:
        super().__init__(report, role)
        self.template, self.main = template, main
        self.name = main.text_at("name")
        self.at: Path = ("spec", "roles", role)
        self.pod: Path = (*self.at, "podTemplate", "spec")
        self.container: Path = (*self.pod, "containers", 0)
        self.pull_secrets: list[str] = []
        self.port: Part | None = None
        self.scheduler: Part | None = None

    def set_value(self, value: Any, *path: str | int) -> None:
        """Set a value of the role or of its podTemplate. The role gets no empty values."""
        if path[:-1] != self.at or value not in ("", [], {}):
            super().set_value(value, *path)

    def pod_data(self, ports: Sequence[str | int], program: Program) -> PodData:
        """Return the data of the pod."""
        for key, part in self.template.entries("metadata"):
            if key in ("labels", "annotations"):
                self.set_value(user_keys(part, (*self.at, key), self.report), *self.at, key)
            else:
                self.report.drop(part, "each pod has a name and a namespace of its own")
        self._main(ports, program)
        for key in ("command", "args"):
            # A script may stand in args alone, and leave a command.
            self.set_value(list(getattr(program, key) or ()), *self.at, key)
        volume_data = volumes.translate(self.template, self.main, self.at, self.report)
        for key, value in volume_data.role.items():
            self.set_value(value, *self.at, key)
        if volume_data.mounts:
            self.set_value(list(volume_data.mounts), *self.container, "volumeMounts")
        if volume_data.volumes:
            self.set_value(with_container(volume_data.volumes, self.name), *self.pod, "volumes")
        self._spec()
        self._beside(volume_data.names)
        role = data_path.at(self.data, self.at) or {}
        security = role.pop("security", {})
        if pod := role.pop("podTemplate", None):
            containers = pod["spec"].pop("containers", None)
            more = {"containers": [{"name": CONTAINER, **containers[0]}]} if containers else {}
            role["podTemplate"] = {"spec": {**pod["spec"], **more}}
        storage = with_container(volume_data.storage, self.name)
        return PodData(role, storage, self.pull_secrets, security, self.port, self.scheduler)

    def _spec(self) -> None:
        special: Fields = {
            "affinity": self._affinity,
            "imagePullSecrets": self._pull_secrets,
            "schedulerName": self._scheduler,
            "securityContext": lambda _, part: self.fields(part, _POD_SECURITY),
            "nodeSelector": self._node_selector,
            **dict.fromkeys(("serviceAccount", "serviceAccountName"), self._service_account),
            "terminationGracePeriodSeconds": self._grace_period,
            "topologySpreadConstraints": self._affinity,
        }
        self.fields(self.template.get("spec"), {**_SPEC, **special})

    def _scheduler(self, _key: str, part: Part) -> None:
        if part.value == _SCHEDULER:
            self.report.carry(part, why="Kubernetes' default")
        else:
            self.scheduler = part

    def _pull_secrets(self, _key: str, part: Part) -> None:
        self.pull_secrets += [name.as_text for item in part.items() if (name := item.get("name"))]
        self.report.carry(part, *PULL_SECRETS)

    def _node_selector(self, key: str, part: Part) -> None:
        super().set_value({name: value.as_text for name, value in part.entries()}, *self.at, key)
        self.report.carry(part, *self.at, key)

    def _service_account(self, _key: str, part: Part) -> None:
        if data_path.has(self.data, (*self.at, "serviceAccountName")):
            self.report.drop(part, "serviceAccountName says it")
        else:
            super().set_value(part.as_text, *self.at, "serviceAccountName")
            self.apply_row(part, _TOKEN._replace(sets=False))

    def _grace_period(self, key: str, part: Part) -> None:
        if part.value == 0:
            self.report.drop(part, "0 kills at once; tfgen lets a task stop, in 5 seconds or 30")
        else:
            self.apply_row(part, _OF_ROLE, key)

    def _affinity(self, key: str, part: Part) -> None:
        self.apply_row(part, _OF_ROLE, key)
        self._watch_selectors(part)

    def _watch_selectors(self, part: Part) -> None:
        """Say which labels a rule of placement looks for that the operator's pods had, and tfgen's have not."""
        for scalar_part in part.leaves():
            names = [step for step in scalar_part.path if isinstance(step, str)]
            keys = (
                [scalar_part.as_text]
                if names[-1:] == ["key"]
                else names[-1:]
                if names[-2:-1] == ["matchLabels"]
                else []
            )
            for key in keys:
                if _OF_OPERATORS.match(key):
                    self.report.note(
                        scalar_part,
                        f"it looks for the operator's label {key}, which tfgen's pods do not have; see tfgen/role",
                    )

    def _main(self, ports: Sequence[str | int], program: Program) -> None:
        if name := self.main.get("name"):
            self.report.mark_read(name)
            if name.value != CONTAINER:
                self.report.note(name, f"the container is named {CONTAINER}")
        # The reader of the form reports a command that it changes.
        arguments = self._arguments if program.command is None else None
        special: Fields = {
            **dict.fromkeys(("command", "args"), arguments),
            "env": lambda _, part: self._env(part, program),
            "ports": lambda _, part: self._ports(part, ports),
            "resources": lambda key, part: self.set_value(
                resources.translate(part, (*self.at, key), self.report), *self.at, key
            ),
            "securityContext": self._container_security,
        }
        self.fields(self.main, {**_CONTAINER_FIELDS, **special})

    def _arguments(self, key: str, part: Part) -> None:
        self.set_value(part.texts_at(), *self.at, key)
        self.report.carry(part, *self.at, key)

    def _env(self, part: Part, program: Program) -> None:
        variables: dict[str, Any] = {}
        parts: dict[str, Part] = {}
        odd: list[Any] = []
        for item in part.items():
            name = item.get("name")
            if name is None:
                continue
            if name.as_text in _OF_RUNS:
                self.report.drop(item, "tfgen sets it itself")
                continue
            if name.as_text in program.omitted:
                self.report.drop(item, program.omitted[name.as_text])
                continue
            if name.as_text in parts:
                self.report.drop(parts[name.as_text], f"a later entry of {name.as_text} wins")
            parts[name.as_text] = item
            value = _variable(item, self.name)
            if value is None:
                odd.append(item.data)
                self.report.carry(item, *self.container, "env")
                continue
            variables[name.as_text] = value
            self.report.carry(item, *self.at, "env", name.as_text)
        self.set_value(variables, *self.at, "env")
        if odd:
            self.set_value(odd, *self.container, "env")

    def _ports(self, part: Part, preferred: Sequence[str | int]) -> None:
        ports = list(part.items())
        fields = [(port, field) for key in ("name", "containerPort") for port in ports if (field := port.get(key))]
        main = next((port for port, field in fields if field.value in preferred), None)
        companions = []
        for port in ports:
            if port is main:
                self.port = port.get("containerPort")
                self.report.carry(port, "spec", "port")
            else:
                companions.append(port.without(*_OF_THE_HOST).data)
                self.report.carry(port, *self.at, "ports")
        self.set_value(companions, *self.at, "ports")
        if host_ports := [data for port in ports if (data := self._host_port(port))]:
            self.set_value(host_ports, *self.container, "ports")

    def _host_port(self, port: Part) -> dict[str, Any] | None:
        """Return the port of podTemplate for a port of the node, and report the fields of the node."""
        # To Kubernetes, the port 0 is none.
        of_the_host = {key: part for key in _OF_THE_HOST if (part := port.get(key)) and part.value != 0}
        network = self.template.get("spec", "hostNetwork")
        if network and network.value is True:
            for part in of_the_host.values():
                self.report.drop(part, "a pod of the host's network has all its ports there")
            return None
        for part in of_the_host.values():
            self.report.carry(part, *self.container, "ports")
        if not of_the_host:
            return None
        data = {"containerPort": port.value["containerPort"].value, "protocol": port.text_at("protocol") or "TCP"}
        return data | {key: part.value for key, part in of_the_host.items()}

    def _container_security(self, _key: str, context: Part) -> None:
        users = dict.fromkeys(("runAsUser", "runAsGroup"), _SECURITY) if self._is_alone() else {}
        self.fields(context, {**_MAIN_SECURITY, **users})

    def _is_alone(self) -> bool:
        """Whether the pod has no other container, whose user the pod's would be, too."""
        return len(list(self.template.items("spec", "containers"))) == 1 and not any(
            True for _ in self.template.items("spec", "initContainers")
        )

    def _beside(self, names: Mapping[str, str]) -> None:
        """The other containers: those that come first, and those that run beside the program."""
        first: list[Any] = []
        sidecars: list[Any] = []
        for container in self.template.items("spec", "initContainers"):
            policy = container.get("restartPolicy")
            key = "sidecars" if policy and policy.value == "Always" else "initContainers"
            (sidecars if key == "sidecars" else first).append(self._beside_main(container, names))
            self.report.carry(container, *self.at, key)
        for container in self.template.items("spec", "containers"):
            if container is not self.main:
                sidecars.append(self._beside_main(container, names))
                why = "it ends with the program, and is ready before it starts"
                self.report.change(container, *self.at, "sidecars", why=why)
        self.set_value(first, *self.at, "initContainers")
        self.set_value(sidecars, *self.at, "sidecars")

    def _beside_main(self, container: Part, names: Mapping[str, str]) -> dict[str, Any]:
        data: dict[str, Any] = with_container(_beside(container.data, names), self.name)
        return data


def with_container(data: Any, name: str) -> Any:
    """Return the data of a pod in which each reference to the main container's amounts has tfgen's name for it.

    Args:
        data: any part of a pod.
        name: the main container's name in the foreign pod.
    """
    if isinstance(data, Mapping):
        return {
            key: CONTAINER if key == "containerName" and value == name else with_container(value, name)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [with_container(item, name) for item in data]
    return data


def _beside(container: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A container with the names that its volumes have in the job."""
    container.pop("restartPolicy", None)
    mounts = container.get("volumeMounts")
    if mounts:
        container["volumeMounts"] = [{**m, "name": names.get(m.get("name"), m.get("name"))} for m in mounts]
    return container


def _variable(item: Part, container: str) -> Any:
    """A variable of a container as job.yaml has it; None for a source that job.yaml does not know."""
    source = item.get("valueFrom")
    if source is None:
        value = item.get("value")
        return value.as_text if value else ""
    data = source.data
    match data:
        case {"fieldRef": {"fieldPath": path, **rest}} if rest.keys() <= {"apiVersion"}:
            return {"fieldRef": {"fieldPath": path}}
        case {"resourceFieldRef": dict(field)} if field.get("containerName", container) == container:
            return {"resourceFieldRef": {key: value for key, value in field.items() if key != "containerName"}}
        case {"secretKeyRef": dict()} | {"configMapKeyRef": dict()}:
            return data
    return None


def user_keys(part: Part, target: Path, report: ImportReport) -> dict[str, str]:
    """The labels or annotations that are the user's; those that tfgen or a controller writes itself are dropped."""
    reserved = schema_file.target(schema_file.load(), "#/definitions/ownLabelKey")["not"]["pattern"]
    own: dict[str, str] = {}
    of_chart = _OF_CHARTS if part.get("heritage") else ()
    for key, value in part.entries():
        if key in of_chart:
            report.drop(value, "it tells of the chart that the manifest came from; tfgen's chart has labels of its own")
        elif re.search(reserved, key):
            report.drop(value, "tfgen, or the controller of the pods, writes its own")
        else:
            own[key] = value.as_text
            report.carry(value, *target, key)
    return own
