"""Each variation of one field of a foreign job has a line in the import report, or is in the pods of the imported job.

The tests look up the field in the rendered pods by its name, without the normalizations of the comparison.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tfgen import data_path
from tfgen.commands.import_ import Imported, ImportSource, import_jobs
from tfgen.graph.graph import plain_objects
from tfgen.importers.compare import ReportEntry
from tfgen.importers.table import Options

pytestmark = pytest.mark.long

MAIN = ("spec", "containers", 0)
ROLES = ("chief", "ps", "worker")
Template = dict[str, Any]

PROBE = {"tcpSocket": {"port": 2222}, "periodSeconds": 7}
FIELDS: Mapping[str, tuple[tuple[str | int, ...], Any]] = {
    "label": (("metadata", "labels", "team"), "vision"),
    "annotation": (("metadata", "annotations", "example.com/a"), "b"),
    **{
        key: (("spec", key), value)
        for key, value in {
            "activeDeadlineSeconds": 90,
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
            "automountServiceAccountToken": True,
            "dnsConfig": {"nameservers": ["10.0.0.1"]},
            "dnsPolicy": "Default",
            "enableServiceLinks": True,
            "hostAliases": [{"ip": "10.0.0.9", "hostnames": ["a"]}],
            "hostIPC": True,
            "hostNetwork": True,
            "hostPID": True,
            "hostUsers": False,
            "hostname": "a",
            "imagePullSecrets": [{"name": "hub"}],
            "nodeName": "node-a",
            "nodeSelector": {"disk": "ssd"},
            "os": {"name": "linux"},
            "overhead": {"cpu": "10m"},
            "preemptionPolicy": "Never",
            "priority": 7,
            "priorityClassName": "high",
            "readinessGates": [{"conditionType": "example.com/a"}],
            "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
            "runtimeClassName": "gvisor",
            "schedulerName": "gpu-scheduler",
            "schedulingGates": [{"name": "example.com/gate"}],
            "serviceAccountName": "trainer",
            "setHostnameAsFQDN": True,
            "shareProcessNamespace": True,
            "subdomain": "a",
            "terminationGracePeriodSeconds": 77,
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"a": "b"}},
                }
            ],
        }.items()
    },
    **{
        f"securityContext.{key}": (("spec", "securityContext", key), value)
        for key, value in {
            "fsGroup": 7,
            "fsGroupChangePolicy": "Always",
            "runAsGroup": 7,
            "runAsNonRoot": True,
            "runAsUser": 7,
            "seccompProfile": {"type": "Unconfined"},
            "supplementalGroups": [7],
            "sysctls": [{"name": "net.core.somaxconn", "value": "1024"}],
        }.items()
    },
    **{
        f"container.{key}": ((*MAIN, key), value)
        for key, value in {
            "args": ["--x=1"],
            "command": ["python", "other.py"],
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "image": "other:2",
            "imagePullPolicy": "Always",
            "lifecycle": {"preStop": {"exec": {"command": ["sync"]}}},
            "livenessProbe": PROBE,
            "readinessProbe": PROBE,
            "startupProbe": PROBE,
            "stdin": True,
            "terminationMessagePath": "/dev/other",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "tty": True,
            "workingDir": "/work",
        }.items()
    },
    "container.resources.claims": ((*MAIN, "resources", "claims"), [{"name": "c"}]),
    **{
        f"container.securityContext.{key}": ((*MAIN, "securityContext", key), value)
        for key, value in {
            "allowPrivilegeEscalation": True,
            "capabilities": {"add": ["IPC_LOCK"]},
            "privileged": True,
            "readOnlyRootFilesystem": True,
            "runAsUser": 8,
        }.items()
    },
    "env": ((*MAIN, "env", "+"), {"name": "LEVEL", "value": "debug"}),
    "env of a Secret": ((*MAIN, "env", "+"), {"name": "T", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}),
    "limit": ((*MAIN, "resources", "limits", "ephemeral-storage"), "7Gi"),
    "request": ((*MAIN, "resources", "requests", "cpu"), "700m"),
    "GPUs": ((*MAIN, "resources", "limits", "nvidia.com/gpu"), 3),
    "port": ((*MAIN, "ports", "+"), {"name": "metrics", "containerPort": 9090}),
    "port of the node": ((*MAIN, "ports", "+"), {"containerPort": 9091, "hostPort": 9091}),
    "sidecar": (("spec", "containers", "+"), {"name": "side", "image": "side:1"}),
    "init container": (("spec", "initContainers", "+"), {"name": "init", "image": "init:1"}),
}
"""Name -> path of a field in a pod template, and its value. The step "+" appends the value to a list."""
VOLUMES: Mapping[str, Any] = {
    "claim": {"persistentVolumeClaim": {"claimName": "c"}},
    "ConfigMap": {"configMap": {"name": "c"}},
    "host path": {"hostPath": {"path": "/srv"}},
    "NFS": {"nfs": {"server": "10.0.0.1", "path": "/x"}},
    "Secret": {"secret": {"secretName": "c"}},
}


def told(role: str, index: str) -> list[Any]:
    hosts = {name: [f"{name}:2222"] for name in ROLES}
    config = json.dumps({"cluster": hosts, "task": {"type": role}})[:-2] + f', "index": {index}}}}}'
    return [{"name": "TF_CONFIG", "value": config}]


def template(env: Sequence[Any] = ()) -> Template:
    main = {"name": "tensorflow", "image": "x:1", "command": ["python", "train.py"], "env": list(env)}
    return {"spec": {"containers": [main]}}


def tf_job(pods: Mapping[str, Template]) -> list[Any]:
    names = {"chief": "Chief", "ps": "PS", "worker": "Worker"}
    replicas = {names[role]: {"replicas": 1, "restartPolicy": "Never", "template": pods[role]} for role in ROLES}
    spec = {"runPolicy": {"cleanPodPolicy": "Running"}, "tfReplicaSpecs": replicas}
    return [{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "m"}, "spec": spec}]


def volcano_job(pods: Mapping[str, Template]) -> list[Any]:
    done = [{"event": "TaskCompleted", "action": "CompleteJob"}]
    tasks = [{"name": role, "replicas": 1, "template": pods[role]} for role in ROLES]
    tasks[0]["policies"] = done
    spec = {"plugins": {"tensorflow": []}, "tasks": tasks}
    return [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "m"}, "spec": spec}]


def job_set(pods: Mapping[str, Template]) -> list[Any]:
    jobs = [{"name": role, "template": {"spec": {"template": pods[role]}}} for role in ROLES]
    spec = {"replicatedJobs": jobs, "successPolicy": {"operator": "All", "targetReplicatedJobs": ["chief"]}}
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "m"}, "spec": spec}]


def sets(pods: Mapping[str, Template]) -> list[Any]:
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": f"m-{role}"},
            "spec": {"replicas": 1, "template": pods[role]},
        }
        for role in ROLES
    ]


FORMATS: Mapping[str, tuple[Callable[[Mapping[str, Template]], list[Any]], str]] = {
    "TFJob": (tf_job, ""),
    "Volcano Job": (volcano_job, ""),
    "JobSet": (job_set, "$(JOB_COMPLETION_INDEX)"),
    "sets": (sets, "0"),
}
IN = {"one role": ("worker",), "some roles": ("chief", "worker"), "all roles": ROLES}


def at(data: Any, path: Sequence[str | int]) -> Any:
    try:
        return data_path.follow(data, path)
    except (LookupError, TypeError):
        return None


def varied(pod: Template, path: tuple[str | int, ...], value: Any) -> Template:
    if path[-1] == "+":
        return data_path.with_value(pod, path[:-1], [*(at(pod, path[:-1]) or []), value])
    return data_path.with_value(pod, path, value)


def file_of(objects: Sequence[Any]) -> str:
    return "---\n".join(json.dumps(item, indent=1) + "\n" for item in objects)


def do_import(objects: Sequence[Any]) -> Imported:
    return import_jobs([ImportSource("a.yaml", file_of(objects).encode())], Options())


def rendered(imported: Imported) -> dict[str, Template]:
    (job,) = imported.jobs
    pods = {}
    for item in plain_objects(job.data):
        pod = item.get("spec", {}).get("template", {})
        role = pod.get("metadata", {}).get("labels", {}).get("tfgen/role")
        if role in ROLES:
            pods[role] = pod
    return pods


def contains(found: Any, value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(found, Mapping) and all(contains(found.get(key), item) for key, item in value.items())
    if isinstance(value, list):
        return isinstance(found, list) and all(any(contains(f, item) for f in found) for item in value)
    return found == value or str(found) == str(value)


def has_field(pod: Template, path: tuple[str | int, ...], value: Any) -> bool:
    if path == ("spec", "containers", "+"):
        path = ("spec", "initContainers", "+")
    user = ("spec", "securityContext", path[-1])
    if path[-2:-1] == ("securityContext",) and path[-1] in ("runAsUser", "runAsGroup"):
        return any(contains(at(pod, place), value) for place in (path, user))
    if path[-1] == "+":
        return any(contains(item, value) for item in at(pod, path[:-1]) or ())
    return contains(at(pod, path), value)


def line_range(objects: Sequence[Any], pod: Template) -> range:
    """Return the lines of the file that contain a pod template."""
    (path,) = [path for path in paths(objects) if at(objects, path) is pod]
    marked = file_of(data_path.with_value(list(objects), path, "the pod")).split("\n")
    start = next(number for number, line in enumerate(marked, 1) if line.endswith(('"the pod"', '"the pod",')))
    return range(start, start + json.dumps(pod, indent=1).count("\n") + 1)


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for step in data if isinstance(data, Mapping) else range(len(data)) if isinstance(data, list) else ():
        found += paths(data[step], (*path, step))
    return found


def names(entries: Sequence[ReportEntry], lines: range) -> list[ReportEntry]:
    return [entry for entry in entries if entry.position.line in lines and entry.outcome in ("changed", "dropped")]


@pytest.mark.parametrize("where", IN)
@pytest.mark.parametrize("form", FORMATS)
def test_each_varied_field_is_in_the_pods_or_has_a_line(form: str, where: str) -> None:
    build, index = FORMATS[form]
    bases = {role: template(told(role, index) if index else ()) for role in ROLES}
    before = rendered(do_import(build(copy.deepcopy(bases))))
    for name, (path, value) in FIELDS.items():
        pods = {role: varied(pod, path, value) if role in IN[where] else pod for role, pod in bases.items()}
        pods = copy.deepcopy(pods)
        objects = build(pods)
        imported = do_import(objects)
        if not imported.jobs:
            assert [problem for problem in imported.problems if problem.severity == "error"], name
            continue
        after = rendered(imported)
        for role in ROLES:
            is_there = has_field(after[role], path, value)
            if role in IN[where] and is_there:
                continue
            if role not in IN[where] and is_there == has_field(before[role], path, value):
                continue
            lines = line_range(objects, pods[role])
            assert names(imported.entries, lines), f"{form}: {name} in {where}: no line for {role}"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("source", VOLUMES)
def test_each_volume_is_in_the_pods_or_has_a_line(form: str, source: str) -> None:
    build, index = FORMATS[form]
    for roles in IN.values():
        pods = {role: template(told(role, index) if index else ()) for role in ROLES}
        for role in roles:
            mount = {"name": "v", "mountPath": "/v"}
            pods[role] = varied(pods[role], ("spec", "volumes", "+"), {"name": "v", **VOLUMES[source]})
            pods[role] = varied(pods[role], (*MAIN, "volumeMounts", "+"), mount)
        imported = do_import(build(pods))
        assert [str(entry) for entry in imported.entries if not entry.is_explained] == []
        for role, pod in rendered(imported).items():
            mounted = has_field(pod, (*MAIN, "volumeMounts", "+"), {"mountPath": "/v"})
            assert mounted == (role in roles)
            assert has_field(pod, ("spec", "volumes", "+"), VOLUMES[source]) == (role in roles)


def test_the_table_varies_enough_fields() -> None:
    assert len(FIELDS) + len(VOLUMES) >= 60
