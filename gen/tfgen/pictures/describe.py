"""Describes the picture of a job: the tasks, volumes, networks and GitOps tools of each environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tfgen.graph.graph import BuiltJob, build, pods, task_objects, variant_objects
from tfgen.graph.storage import SHM, TMP
from tfgen.job.facts import check_environment
from tfgen.job.training_job import GitOps, Structure
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object, group, identity, literal_name
from tfgen.kubernetes.pods import (
    amount,
    claimed_devices,
    device_name,
    device_templates,
    gpu_product,
    pod_requests,
    pods_of,
)
from tfgen.live.run import DeclaredRun, declared_run
from tfgen.pictures.picture import Panel, Picture, Tasks, Volume
from tfgen.places import CHARTS, OVERLAYS
from tfgen.record import Record
from tfgen.text.document import Document
from tfgen.words import count, either


def network_notes(objects: Sequence[Object]) -> Iterator[tuple[str, str]]:
    """Yield (direction, text) for each direction in which a network policy in `objects` allows connections.

    The direction is "ingress" or "egress". The text lists the allowed connections, such as "worker: from tasks of this
    run on port 2222". For a job without a network policy, the only text is the warning that every pod of the cluster
    reaches the tasks.
    """
    policies = [item for item in objects if item["kind"] == "NetworkPolicy" and literal_name(item) is None]
    if not policies and any(item["kind"] == "Service" for item in objects):
        yield "ingress", "no network policy: every pod of the cluster reaches the tasks"
    for item in policies:
        spec = item["spec"]
        subject = spec["podSelector"].get("matchLabels", {}).get(keys.ROLE, "tasks")
        for direction, key in (("ingress", "from"), ("egress", "to")):
            if spec.get(direction):
                yield direction, f"{subject}: {'; '.join(_rule(rule, key) for rule in spec[direction])}"


def _rule(rule: Mapping[str, Any], key: str) -> str:
    peers = dict.fromkeys(map(_peer, rule.get(key) or ())) or ("any address",)
    numbers = dict.fromkeys(str(port["port"]) for port in rule.get("ports") or () if "port" in port)
    ports = f" on port{'s' if len(numbers) > 1 else ''} {either(numbers, 'and')}" if numbers else ""
    return f"{key} {either(peers, 'and')}{ports}"


def _peer(peer: Mapping[str, Any]) -> str:
    if "ipBlock" in peer:
        return str(peer["ipBlock"]["cidr"])
    labels = (peer.get("podSelector") or {}).get("matchLabels", {})
    if keys.JOB in labels:
        return "tasks of this run"
    if "namespaceSelector" in peer:
        return "selected namespaces"
    return "selected pods of the namespace" if peer.get("podSelector") else "all pods of the namespace"


_EVALUATOR: Final = "evaluator"


def describe(document: Document, environment: str | None) -> Picture:
    """Return the description of a job's picture.

    Args:
        document: the document of the job, without errors.
        environment: the name of the only environment to draw; None to draw all environments, or the job
            itself if the job has no environments.

    Raises:
        UsageError: the job has no such environment.
    """
    if environment is not None:
        check_environment(document, environment)
    return describe_built(document, build(document.data, None if environment is None else (environment,)))


def describe_built(document: Document, built: BuiltJob) -> Picture:
    """Return the description of a job's picture, with a panel for each environment in `built`.

    If `built` has no environments, the only panel shows the job itself.
    """
    names: Sequence[str | None] = [*built.environments] or [None]
    return Picture(built.job.name, tuple(_panel(document, built, name) for name in names))


class _Variant(Record):
    """The objects of a job in one environment, and values that several functions need.

    Attributes:
        objects: the plain objects.
        specs: the PodSpec of each role.
        gang: scheduler, queue and size of the gang; empty without a gang.
    """

    structure: Structure
    run: DeclaredRun
    objects: tuple[Object, ...]
    specs: Mapping[str, Mapping[str, Any]]
    gang: str


def _panel(document: Document, built: BuiltJob, environment: str | None) -> Panel:
    objects = variant_objects(built, environment)
    plain = task_objects(document.data, environment)
    run = declared_run(built, plain, environment)
    specs = {pod.role: pod.spec for pod in pods(plain.objects, "")}
    specs |= {each.labels.get(keys.ROLE, ""): each.spec for item in objects for each in pods_of(item)}
    variant = _Variant(built.job.structure, run, objects, specs, _gang(run, objects))
    return Panel(
        title=environment or built.job.name,
        facts=tuple(_facts(run)),
        gang=variant.gang,
        tasks=tuple(_tasks(role, variant) for role in _roles(run)),
        volumes=tuple(_volumes(variant)),
        notes=(*_end_notes(variant), *network_notes(objects), *_delivery_notes(built.job.gitops, run)),
    )


def _roles(run: DeclaredRun) -> list[str]:
    """Return the roles that have tasks. In a retired environment, no role has tasks."""
    return [role for role, number in run.roles.items() if number and run.is_enabled]


def _facts(run: DeclaredRun) -> Iterator[str]:
    if not run.is_enabled:
        yield "retired: the job does not run here"
    for label, value in (("namespace", run.namespace), ("cluster", run.cluster), ("run", run.run)):
        if value:
            yield f"{label} {value}"


def _gang(run: DeclaredRun, objects: Sequence[Object]) -> str:
    """Return a text with the size, the queue and the scheduler of the gang.

    The text comes from a PodGroup, a Volcano Job or a queue of Kueue.
    """
    for item in objects:
        spec, queue = item.get("spec") or {}, (item["metadata"].get("labels") or {}).get(keys.QUEUE)
        if run.gang is not None and identity(item) == run.gang[0]:
            return _gang_text(run.gang[1], spec, group(item))
        if identity(item) == run.deciding_object and "minAvailable" in spec:
            return _gang_text(spec["minAvailable"], spec, group(item))
        if queue and literal_name(item) is None:
            return f"queue {queue}, all pods admitted together (kueue.x-k8s.io)"
    return ""


def _gang_text(size: int, spec: Mapping[str, Any], api_group: str) -> str:
    queue = f" in queue {spec['queue']}" if spec.get("queue") else ""
    return f"gang of {count(size, 'pod')}{queue}, started together ({api_group})"


def _tasks(role: str, variant: _Variant) -> Tasks:
    run, structure, spec = variant.run, variant.structure, variant.specs[role]
    requests = pod_requests(spec) | claimed_devices(spec, device_templates(variant.objects))
    units = {"cpu": "CPU", "memory": "memory"}
    return Tasks(
        role=role,
        count=run.roles[role],
        devices=_devices(requests, gpu_product(spec)),
        resources=", ".join(f"{amount(name, requests[name])} {units[name]}" for name in units if requests.get(name)),
        controller=" ".join((run.controllers.get(role) or run.deciding_object or ("", "", ""))[1:]),
        hosts=_span(_hosts(variant.objects).get(role, ())),
        start=_start(role, variant),
        in_gang=bool(variant.gang) and role != _EVALUATOR,
        ends=role == structure.ends,
        mounts={mount["name"]: mount["mountPath"] for mount in _mounts(spec)},
    )


def _devices(requests: Mapping[str, Any], product: str) -> str:
    """Return the GPUs of a pod as text, with the GPU model from the node selector, such as "1 NVIDIA-T4"."""
    return ", ".join(
        f"{amount(name, value)} {product if product and name.endswith('/gpu') else device_name(name)}"
        for name, value in requests.items()
        if value and "/" in name
    )


def _start(role: str, variant: _Variant) -> str:
    if variant.structure.kind == "JobSet" and variant.structure.ps_first and role != "ps":
        return "starts after ps"
    if not variant.gang:
        return "starts at once"
    return "starts outside the gang" if role == _EVALUATOR else "starts with the gang"


def _hosts(objects: Sequence[Object]) -> Mapping[str, Sequence[str]]:
    """Return role -> hosts, from the ConfigMap for TF_CONFIG; empty if an operator chooses the host names."""
    for item in objects:
        if item["kind"] == "ConfigMap" and "cluster" in item.get("data", {}):
            hosts: Mapping[str, Sequence[str]] = json.loads(item["data"]["cluster"])
            return hosts
    return {}


def _span(hosts: Sequence[str]) -> str:
    """Return hosts with consecutive numbers as one text, such as `m-ps-{0..2}.m:2222`.

    >>> _span(["m-ps-0.m:2222"]), _span(["m-ps-0.m:2222", "m-ps-1.m:2222", "m-ps-2.m:2222"])
    ('m-ps-0.m:2222', 'm-ps-{0..2}.m:2222')
    """
    if len(hosts) < 2:
        return "".join(hosts)
    name, _, domain = hosts[0].partition(".")
    return f"{name.removesuffix('0')}{{0..{len(hosts) - 1}}}.{domain}"


def _mounts(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the mounts of the main container, without the mounts for the temporary folder and the shared memory."""
    for mount in spec["containers"][0].get("volumeMounts", ()):
        if mount["name"] not in (TMP, SHM):
            yield mount


def _volumes(variant: _Variant) -> Iterator[Volume]:
    """Yield the volumes that the tasks mount, sorted by name, and then the claims that no task mounts."""
    claims = {item["metadata"]["name"]: item for item in variant.objects if item["kind"] == "PersistentVolumeClaim"}
    specs = [variant.specs[role] for role in _roles(variant.run)]
    mounted = {mount["name"] for spec in specs for mount in _mounts(spec)}
    volumes = {volume["name"]: volume for spec in specs for volume in spec.get("volumes", ())}
    used = set()
    for name in sorted(mounted & volumes.keys()):
        claim = volumes[name].get("persistentVolumeClaim", {}).get("claimName")
        used.add(claim)
        text = _claim_text(claim, claims.get(claim)) if claim else _source_text(volumes[name])
        yield Volume(name, text, is_kept=claim is not None)
    for name in sorted(claims.keys() - used):
        yield Volume(name, _claim_text(name, claims[name]), is_kept=True)


def _source_text(volume: Mapping[str, Any]) -> str:
    kind, source = next((key, value) for key, value in volume.items() if key != "name")
    name = source.get("name") or source.get("secretName") or source.get("server") or source.get("path") or ""
    return f"{kind} {name}".strip()


def _claim_text(name: str, claim: Object | None) -> str:
    if claim is None:
        return f"claim {name}, which exists already"
    spec = claim["spec"]
    facts = (spec["resources"]["requests"]["storage"], spec.get("storageClassName", ""), *spec["accessModes"])
    return ", ".join(filter(None, (f"claim {name}", *map(str, facts))))


def _end_notes(variant: _Variant) -> Iterator[tuple[str, str]]:
    run, structure = variant.run, variant.structure
    if not run.is_enabled:
        return
    ending = "all workers exit" if structure.completion == "AllWorkers" else f"{structure.ends}-0 exits"
    if run.finisher:
        stopped = [role for role in _roles(run) if role != structure.ends]
        work = f"stops {either(stopped, 'and')}" if stopped else "ends the run"
        yield "end", f"when {ending}, the finisher {work}"
    elif run.deciding_object:
        version, kind, name = run.deciding_object
        kind = "Volcano Job" if (version, kind) == ("batch.volcano.sh/v1alpha1", "Job") else kind
        yield "end", f"the {kind} {name} ends when {ending}"
    if run.tensorboard_port:
        yield "TensorBoard", f"{run.full_name}-tensorboard:{run.tensorboard_port}"


def _delivery_notes(gitops: GitOps | None, run: DeclaredRun) -> Iterator[tuple[str, str]]:
    if gitops is None or run.environment is None:
        return
    is_chart = gitops.is_chart and run.is_enabled
    folder = f"{CHARTS}/{run.job}" if is_chart else f"{OVERLAYS}/{run.job}/{run.environment}"
    path = "/".join(filter(None, (gitops.path, folder)))
    for tool, settings in (("Argo CD", gitops.argocd), ("Flux", gitops.flux)):
        if settings is not None:
            yield "delivery", f"{tool} applies {path} of {gitops.repository}, branch {gitops.branch}"
