"""A foreign pod template in the words of a role of job.yaml.

What a role has no word for goes into its ``podTemplate``, in Kubernetes' own words. What stands in the template but
is not a role's to say (its scheduler, its port, its rights) is given beside the role.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.importers import eci, resources, volumes
from tfgen.importers.account import Account
from tfgen.importers.eci import Instance
from tfgen.importers.part import Part
from tfgen.record import EMPTY, Record
from tfgen.schema import file as schema_file
from tfgen.schema import kubernetes_fields

CONTAINER: Final = "tensorflow"
"""The main container's name: that which Kubeflow's operator asks for."""

PORT: Final = 2222
"""TensorFlow's port, unless something else is said."""

RESTART_POLICY: Final = ("spec", "restartPolicy")
"""Where a pod template has it. tfgen says it itself."""

_ROLE_SCALARS: Final = ("nodeName", "priorityClassName", "runtimeClassName")
_ROLE_LISTS: Final = ("tolerations", "topologySpreadConstraints")
_TEMPLATE_FIELDS: Final = frozenset(
    (
        "dnsConfig",
        "dnsPolicy",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostnameOverride",
        "os",
        "overhead",
        "preemptionPolicy",
        "readinessGates",
        "resourceClaims",
        "resources",
        "schedulingGates",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
    )
)
_DEFAULTS: Final[Mapping[str, Any]] = {
    "dnsPolicy": "ClusterFirst",
    "hostIPC": False,
    "hostNetwork": False,
    "hostPID": False,
    "schedulerName": "default-scheduler",
    "setHostnameAsFQDN": False,
    "shareProcessNamespace": False,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
"""What the API server itself fills in: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/."""
_AS_TFGEN: Final[Mapping[str, Any]] = {"automountServiceAccountToken": False, "enableServiceLinks": False}
_PROFILE: Final = ("seccompProfile", {"type": "RuntimeDefault"})
_SECURE_PODS: Final = (("fsGroupChangePolicy", "OnRootMismatch"), _PROFILE)
_SECURE_CONTAINERS: Final = (
    ("allowPrivilegeEscalation", False),
    ("privileged", False),
    ("capabilities", {"drop": ["ALL"]}),
    _PROFILE,
)
"""What tfgen's pods, and their containers, say of themselves."""
_DROPPED: Final[Mapping[str, str]] = {
    "activeDeadlineSeconds": "the limit of one pod; set deadline, which holds for the task that ends the job",
    "ephemeralContainers": "they are for looking into a pod that runs",
    "hostname": "each task has a host name of its own",
    "priority": "priorityClassName says it",
    "subdomain": "the tasks have a Service of their own",
}
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


def join_pull_secrets(pods: Sequence[PodData], account: Account) -> list[str]:
    """Return the Secrets of all pods of a job, and report them as changed where a pod has fewer."""
    names = list(dict.fromkeys(name for pod in pods for name in pod.pull_secrets))
    if any({*pod.pull_secrets} < {*names} for pod in pods):
        account.change_target(PULL_SECRETS, _WHY_PULL_SECRETS)
    return names


def main_container(template: Part) -> Part | None:
    """The container of the program: the one named tensorflow, or else the first."""
    containers = [item for item in template.items("spec", "containers") if isinstance(item.value, Mapping)]
    named = (item for item in containers if (name := item.get("name")) and name.value == CONTAINER)
    return next(named, containers[0] if containers else None)


def translate(
    template: Part,
    role: str,
    account: Account,
    ports: Sequence[str | int],
    program: Program,
) -> PodData | None:
    """The pod template in a role's words; None where it has no container, or a field is of another type.

    Args:
        template: a PodTemplateSpec.
        role: the role that it becomes.
        account: what becomes of each of its lines.
        ports: the names and the number of TensorFlow's port, in order of preference.
        program: what runs, where it is not what the template says.
    """
    shaped_template = shaped(template, account)
    if shaped_template is None:
        return None
    template, instance = eci.take(shaped_template)
    main = main_container(template)
    if main is None:
        account.refuse(template, "the pod template has no container")
        return None
    pod = _Translation(template, main, role, account, ports, program).pod_data()
    for part, path, _ in instance.parts:
        account.carry(part, "spec", "roles", role, "cloud", *path)
    return pod.replaced(instance=instance)


def shaped(template: Part, account: Account) -> Part | None:
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
            account.refuse(part, misfit.message.partition(": ")[2] or misfit.message)
            fits = False
        else:
            account.drop(part, f"{misfit.message}; Kubernetes drops it, too")
            known = known.without_path(misfit.path)
    return known if fits else None


def _lenient(part: Part) -> Any:
    """The data with numbers where Kubernetes' own reader, which is one of YAML 1.1, has them, and text as text."""
    if isinstance(part.value, Mapping):
        return {key: _lenient(inner) for key, inner in part.value.items()}
    if isinstance(part.value, list):
        return [_lenient(inner) for inner in part.value]
    return volumes.octal(part)


class _Translation:
    """The translation of one template: what it collects for the role, and for its ``podTemplate``."""

    def __init__(
        self,
        template: Part,
        main: Part,
        role: str,
        account: Account,
        ports: Sequence[str | int],
        program: Program,
    ) -> None:
        self.template, self.main, self.account, self.program = template, main, account, program
        name = main.get("name")
        self.name = name.written if name else ""
        self.at = ("spec", "roles", role)
        self.ports = ports
        self.role: dict[str, Any] = {}
        self.more: dict[str, Any] = {}  # of podTemplate.spec
        self.more_of_main: dict[str, Any] = {}
        self.security: dict[str, Any] = {}
        self.pull_secrets: list[str] = []
        self.port: Part | None = None
        self.scheduler: Part | None = None

    def pod_data(self) -> PodData:
        self._metadata()
        self._main()
        self._program()
        volume_data = volumes.translate(self.template, self.main, self.at, self.account)
        self.role |= volume_data.role
        if volume_data.mounts:
            self.more_of_main["volumeMounts"] = list(volume_data.mounts)
        if volume_data.volumes:
            self.more["volumes"] = with_container(volume_data.volumes, self.name)
        self._spec()
        self._beside(volume_data.names)
        if self.more_of_main:
            self.more["containers"] = [{"name": CONTAINER, **self.more_of_main}]
        if self.more:
            self.role["podTemplate"] = {"spec": self.more}
        storage = with_container(volume_data.storage, self.name)
        return PodData(self.role, storage, self.pull_secrets, self.security, self.port, self.scheduler)

    def _metadata(self) -> None:
        for key, part in self.template.entries("metadata"):
            if key in ("labels", "annotations"):
                own = own_keys(part, (*self.at, key), self.account)
                if own:
                    self.role[key] = own
            else:
                self.account.drop(part, "each pod has a name and a namespace of its own")

    def _spec(self) -> None:
        for key, part in self.template.entries("spec"):
            if key in ("containers", "initContainers", "volumes", "restartPolicy"):
                continue
            if key in _DEFAULTS and part.value == _DEFAULTS[key]:
                self.account.carry(part, why="Kubernetes' default")
            elif key in _AS_TFGEN and part.value == _AS_TFGEN[key]:
                self.account.carry(part, why="tfgen's default")
            elif key in _DROPPED:
                self.account.drop(part, _DROPPED[key])
            elif key in _TEMPLATE_FIELDS or key in _AS_TFGEN:
                self.more[key] = part.data
                self.account.carry(part, *self.at, "podTemplate", "spec", key)
            else:
                self._field(key, part)

    def _field(self, key: str, part: Part) -> None:
        match key:
            case "schedulerName":
                self.scheduler = part
            case "imagePullSecrets":
                for item in part.items():
                    if name := item.get("name"):
                        self.pull_secrets.append(name.written)
                self.account.carry(part, *PULL_SECRETS)
            case "securityContext":
                self._pod_security(part)
            case "nodeSelector":
                self.role[key] = {name: value.written for name, value in part.entries()}
                self.account.carry(part, *self.at, key)
            case "affinity":
                self._set(key, part)
                self._watch_selectors(part)
            case "serviceAccountName" | "serviceAccount":
                if "serviceAccountName" in self.role:
                    self.account.drop(part, "serviceAccountName says it")
                    return
                self.role["serviceAccountName"] = part.written
                self.account.change(
                    part,
                    *self.at,
                    "serviceAccountName",
                    why="its token is not mounted; a program that calls the API server needs "
                    "podTemplate: {spec: {automountServiceAccountToken: true}}",
                )
            case "terminationGracePeriodSeconds":
                if part.value == 0:
                    self.account.drop(part, "0 kills at once; tfgen lets a task stop, in 5 seconds or 30")
                else:
                    self._set(key, part)
            case _ if key in _ROLE_SCALARS or key in _ROLE_LISTS:
                self._set(key, part)
                if key == "topologySpreadConstraints":
                    self._watch_selectors(part)

    def _set(self, key: str, part: Part) -> None:
        if part.data not in ("", [], {}):
            self.role[key] = part.data
        self.account.carry(part, *self.at, key)

    def _watch_selectors(self, part: Part) -> None:
        """Say which labels a rule of placement looks for that the operator's pods had, and tfgen's have not."""
        for leaf in part.leaves():
            names = [step for step in leaf.path if isinstance(step, str)]
            keys = [leaf.written] if names[-1:] == ["key"] else names[-1:] if names[-2:-1] == ["matchLabels"] else []
            for key in keys:
                if _OF_OPERATORS.match(key):
                    self.account.note(
                        leaf, f"it looks for the operator's label {key}, which tfgen's pods do not have; see tfgen/role"
                    )

    def _main(self) -> None:
        self.account.name(name) if (name := self.main.get("name")) else None
        if name and name.value != CONTAINER:
            self.account.note(name, f"the container is named {CONTAINER}")
        for key, part in self.main.entries():
            match key:
                case "name" | "volumeMounts":
                    continue
                case "image" | "imagePullPolicy" | "workingDir":
                    self._set(key, part)
                case "command" | "args":
                    self._arguments(key, part)
                case "env":
                    self._env(part)
                case "envFrom":
                    self._set(key, part)
                case "ports":
                    self._ports(part)
                case "resources":
                    data = resources.translate(part, (*self.at, key), self.account)
                    if data:
                        self.role[key] = data
                case "securityContext":
                    self._container_security(part)
                case _ if key in _DEFAULTS and part.value == _DEFAULTS[key]:
                    self.account.carry(part, why="Kubernetes' default")
                case _:
                    self.more_of_main[key] = part.data
                    self.account.carry(part, *self.at, "podTemplate", "spec", "containers", 0, key)

    def _arguments(self, key: str, part: Part) -> None:
        if self.program.command is not None:
            return  # the reader says what becomes of it, and `_program` what runs
        words = [item.written for item in part.items()]
        if words:
            self.role[key] = words
        self.account.carry(part, *self.at, key)

    def _program(self) -> None:
        """What runs where a reader took something off: a script may stand in args alone, and leave a command."""
        for key in ("command", "args"):
            words = getattr(self.program, key)
            if words:
                self.role[key] = list(words)

    def _env(self, part: Part) -> None:
        variables: dict[str, Any] = {}
        parts: dict[str, Part] = {}
        odd: list[Any] = []
        for item in part.items():
            name = item.get("name")
            if name is None:
                continue
            if name.written in _OF_RUNS:
                self.account.drop(item, "tfgen sets it itself")
                continue
            if name.written in self.program.omitted:
                self.account.drop(item, self.program.omitted[name.written])
                continue
            if name.written in parts:
                self.account.drop(parts[name.written], f"a later entry of {name.written} wins")
            parts[name.written] = item
            value = _variable(item, self.name)
            if value is None:
                odd.append(item.data)
                self.account.carry(item, *self.at, "podTemplate", "spec", "containers", 0, "env")
                continue
            variables[name.written] = value
            self.account.carry(item, *self.at, "env", name.written)
        if variables:
            self.role["env"] = variables
        if odd:
            self.more_of_main["env"] = odd

    def _ports(self, part: Part) -> None:
        ports = list(part.items())
        by_name = (p for p in ports if (name := p.get("name")) and name.value in self.ports)
        by_number = (p for p in ports if (number := p.get("containerPort")) and number.value in self.ports)
        main = next(by_name, None) or next(by_number, None)
        others = []
        for port in ports:
            if port is main:
                self.port = port.get("containerPort")
                self.account.carry(port, "spec", "port")
            else:
                others.append(port.without(*_OF_THE_HOST).data)
                self.account.carry(port, *self.at, "ports")
            self._host_port(port)
        if others:
            self.role["ports"] = others

    def _host_port(self, port: Part) -> None:
        """What a port says of its node: job.yaml has no word for it, but a podTemplate has."""
        # To Kubernetes, the port 0 is none.
        of_the_host = {key: part for key in _OF_THE_HOST if (part := port.get(key)) and part.value != 0}
        network = self.template.get("spec", "hostNetwork")
        if network and network.value is True:
            for part in of_the_host.values():
                self.account.drop(part, "a pod of the host's network has all its ports there")
        elif of_the_host:
            protocol = port.get("protocol")
            own = {
                "containerPort": port.value["containerPort"].value,
                "protocol": protocol.value if protocol else "TCP",
                **{key: part.value for key, part in of_the_host.items()},
            }
            self.more_of_main.setdefault("ports", []).append(own)
            for part in of_the_host.values():
                self.account.carry(part, *self.at, "podTemplate", "spec", "containers", 0, "ports")

    def _pod_security(self, context: Part) -> None:
        rest: dict[str, Any] = {}
        for key, part in context.entries():
            if key in ("runAsUser", "runAsGroup", "fsGroup"):
                self._secure(key, part)
            elif (key, part.data) in _SECURE_PODS:
                self.account.carry(part, why="tfgen's default")
            else:
                rest[key] = part.data
                self.account.carry(part, *self.at, "podTemplate", "spec", "securityContext", key)
        if rest:
            self.more["securityContext"] = rest

    def _container_security(self, context: Part) -> None:
        rest: dict[str, Any] = {}
        for key, part in context.entries():
            if key == "readOnlyRootFilesystem" or (key in ("runAsUser", "runAsGroup") and self._is_alone()):
                self._secure(key, part)
            elif (key, part.data) in _SECURE_CONTAINERS:
                self.account.carry(part, why="tfgen's default")
            else:
                rest[key] = part.data
                self.account.carry(part, *self.at, "podTemplate", "spec", "containers", 0, "securityContext", key)
        if rest:
            self.more_of_main["securityContext"] = rest

    def _is_alone(self) -> bool:
        """Whether the pod has no other container, whose user the pod's would be, too."""
        return len(list(self.template.items("spec", "containers"))) == 1 and not any(
            True for _ in self.template.items("spec", "initContainers")
        )

    def _secure(self, key: str, part: Part) -> None:
        self.security[key] = part.value
        self.account.carry(part, *self.at, "security", key)

    def _beside(self, names: Mapping[str, str]) -> None:
        """The other containers: those that come first, and those that run beside the program."""
        first: list[Any] = []
        sidecars: list[Any] = []
        for container in self.template.items("spec", "initContainers"):
            policy = container.get("restartPolicy")
            key = "sidecars" if policy and policy.value == "Always" else "initContainers"
            (sidecars if key == "sidecars" else first).append(self._beside_main(container, names))
            self.account.carry(container, *self.at, key)
        for container in self.template.items("spec", "containers"):
            if container is not self.main:
                sidecars.append(self._beside_main(container, names))
                why = "it ends with the program, and is ready before it starts"
                self.account.change(container, *self.at, "sidecars", why=why)
        if first:
            self.role["initContainers"] = first
        if sidecars:
            self.role["sidecars"] = sidecars

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
        return value.written if value else ""
    data = source.data
    match data:
        case {"fieldRef": {"fieldPath": path, **rest}} if rest.keys() <= {"apiVersion"}:
            return {"fieldRef": {"fieldPath": path}}
        case {"resourceFieldRef": dict(field)} if field.get("containerName", container) == container:
            return {"resourceFieldRef": {key: value for key, value in field.items() if key != "containerName"}}
        case {"secretKeyRef": dict()} | {"configMapKeyRef": dict()}:
            return data
    return None


def own_keys(part: Part, target: Sequence[str], account: Account) -> dict[str, str]:
    """The labels or annotations that are the user's; those that tfgen or a controller writes itself are dropped."""
    reserved = schema_file.target(schema_file.load(), "#/definitions/ownLabelKey")["not"]["pattern"]
    own: dict[str, str] = {}
    of_chart = _OF_CHARTS if part.get("heritage") else ()
    for key, value in part.entries():
        if key in of_chart:
            account.drop(
                value, "it tells of the chart that the manifest came from; tfgen's chart has labels of its own"
            )
        elif re.search(reserved, key):
            account.drop(value, "tfgen, or the controller of the pods, writes its own")
        else:
            own[key] = value.written
            account.carry(value, *target, key)
    return own
