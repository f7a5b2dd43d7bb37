"""Objects with a field that a component of the cluster refuses, each with a similar object that the cluster accepts.

`tests/check/test_object_rules.py` checks both with the table of rules, and `tests/e2e/server/test_object_rules.py`
sends both to a real API server.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]


class Case(NamedTuple):
    """An object that the API server refuses, and a similar object that the API server accepts."""

    refused: Object
    accepted: Object


def job(container: Object | None = None, **spec: Any) -> Object:
    """Return a Job whose pod has some fields, and whose container has some fields."""
    main = {"name": "main", "image": "registry.example.com/main:1.0", **(container or {})}
    pod = {"restartPolicy": "Never", "containers": [main], **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "case"}, "spec": {"template": {"spec": pod}}}


def _container(key: str, refused: Any, accepted: Any, **spec: Any) -> Case:
    return Case(job({key: refused}, **spec), job({key: accepted}, **spec))


def _pod(key: str, refused: Any, accepted: Any) -> Case:
    return Case(job(**{key: refused}), job(**{key: accepted}))


def _init(refused: Object, accepted: Object) -> Case:
    shared = {"name": "first", "image": "registry.example.com/first:1.0"}
    return _pod("initContainers", [{**shared, **refused}], [{**shared, **accepted}])


def _env(refused: Object, accepted: Object) -> Case:
    return _container("env", [{"name": "A", "valueFrom": refused}], [{"name": "A", "valueFrom": accepted}])


def _volume(refused: Object, accepted: Object) -> Case:
    return _pod("volumes", [{"name": "data", **refused}], [{"name": "data", **accepted}])


def _projected(*refused: Object, accepted: tuple[Object, ...]) -> Case:
    return _volume({"projected": {"sources": [*refused]}}, {"projected": {"sources": [*accepted]}})


def _mount(refused: Object, accepted: Object) -> Case:
    mounts = [[{"name": "data", "mountPath": "/data", **fields}] for fields in (refused, accepted)]
    return _container("volumeMounts", *mounts, volumes=[{"name": "data", "emptyDir": {}}])


def _node_affinity(refused: Object, accepted: Object) -> Case:
    terms = [{"nodeSelectorTerms": [{"matchExpressions": [item]}]} for item in (refused, accepted)]
    rules = [{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}} for term in terms]
    return _pod("affinity", *rules)


def _named(kind: str, api_version: str, refused: Object, accepted: Object) -> Case:
    shared = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "case"}}
    return Case({**shared, **refused}, {**shared, **accepted})


_EXEC = {"exec": {"command": ["true"]}}
_TOKEN = {"serviceAccountToken": {"path": "token"}}
_KEY = {"items": [{"key": "a", "path": "a"}]}
_PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
_BLOCK = {"cidr": "10.20.0.0/16"}

CASES: dict[str, Case] = {
    **{f"{key} of an init container": _init({key: _EXEC}, {"restartPolicy": "Always", key: _EXEC}) for key in _PROBES},
    "lifecycle of an init container": _init(
        {"lifecycle": {"preStop": _EXEC}}, {"restartPolicy": "Always", "lifecycle": {"preStop": _EXEC}}
    ),
    "container without an image": Case(job({"image": ""}), job()),
    "two handlers": _container("livenessProbe", {**_EXEC, "tcpSocket": {"port": 80}}, _EXEC),
    "no handler": _container("livenessProbe", {"periodSeconds": 5}, {**_EXEC, "periodSeconds": 5}),
    "two handlers of a hook": _container(
        "lifecycle", {"preStop": {**_EXEC, "sleep": {"seconds": 1}}}, {"preStop": _EXEC}
    ),
    "successThreshold": _container("livenessProbe", {**_EXEC, "successThreshold": 2}, {**_EXEC, "successThreshold": 1}),
    "imagePullPolicy": _container("imagePullPolicy", "Sometimes", "Always"),
    "terminationMessagePolicy": _container("terminationMessagePolicy", "Log", "File"),
    "containerPort": _container("ports", [{"containerPort": 65536}], [{"containerPort": 65535}]),
    "name of a port": _container(
        "ports", [{"containerPort": 80, "name": "Web"}], [{"containerPort": 80, "name": "web-1"}]
    ),
    "protocol": _container(
        "ports", [{"containerPort": 80, "protocol": "HTTP"}], [{"containerPort": 80, "protocol": "SCTP"}]
    ),
    "two sources of a variable": _env(
        {"secretKeyRef": {"name": "a", "key": "a"}, "configMapKeyRef": {"name": "a", "key": "a"}},
        {"secretKeyRef": {"name": "a", "key": "a"}},
    ),
    "field of a variable": _env(
        {"fieldRef": {"fieldPath": "spec.image"}}, {"fieldRef": {"fieldPath": "spec.nodeName"}}
    ),
    "resource of a variable": _env(
        {"resourceFieldRef": {"resource": "limits.nvidia.com/gpu"}}, {"resourceFieldRef": {"resource": "limits.cpu"}}
    ),
    "divisor of cpu": _env(
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}},
    ),
    "divisor of memory": _env(
        {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1m"}},
        {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
    ),
    "key of a Secret": _env(
        {"secretKeyRef": {"name": "a", "key": "..a"}}, {"secretKeyRef": {"name": "a", "key": ".a"}}
    ),
    "key of a ConfigMap": _env(
        {"configMapKeyRef": {"name": "a", "key": "a b"}}, {"configMapKeyRef": {"name": "a", "key": "a.b"}}
    ),
    "two sources of a volume": _volume({"emptyDir": {}, "secret": {"secretName": "a"}}, {"emptyDir": {}}),
    "name of a volume": _pod("volumes", [{"name": "a.b", "emptyDir": {}}], [{"name": "a-b", "emptyDir": {}}]),
    "two sources of a projection": _projected(
        {"secret": {"name": "a"}, "configMap": {"name": "a"}}, accepted=({"secret": {"name": "a"}},)
    ),
    "projected path": _projected(
        {"secret": {"name": "a", **_KEY}},
        {"configMap": {"name": "a", **_KEY}},
        accepted=({"secret": {"name": "a", **_KEY}},),
    ),
    "token expiration": _projected(
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 599}},
        accepted=({"serviceAccountToken": {"path": "token", "expirationSeconds": 600}},),
    ),
    "file name of a Secret": _volume(
        {"secret": {"secretName": "a", "items": [{"key": "a", "path": "..a"}]}},
        {"secret": {"secretName": "a", "items": [{"key": "a", "path": "b/a"}]}},
    ),
    "absolute file name": _volume(
        {"configMap": {"name": "a", "items": [{"key": "a", "path": "/a"}]}},
        {"configMap": {"name": "a", "items": [{"key": "a", "path": "a"}]}},
    ),
    "mode": _volume(
        {"secret": {"secretName": "a", "defaultMode": 0o1000}}, {"secret": {"secretName": "a", "defaultMode": 0o777}}
    ),
    "field of a file": _volume(
        {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}},
        {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ),
    "driver": _volume({"csi": {"driver": "a_b"}}, {"csi": {"driver": "Files.csi.example.com"}}),
    "hostPath": _volume({"hostPath": {"path": "/a/../b"}}, {"hostPath": {"path": "/a/b"}}),
    "type of a hostPath": _volume(
        {"hostPath": {"path": "/a", "type": "Folder"}}, {"hostPath": {"path": "/a", "type": "Directory"}}
    ),
    "subPath": _mount({"subPath": "a/../b"}, {"subPath": "a/b"}),
    "absolute subPath": _mount({"subPath": "/a"}, {"subPath": "a"}),
    "subPath and subPathExpr": _mount({"subPath": "a", "subPathExpr": "a"}, {"subPathExpr": "a"}),
    "mountPropagation": _mount({"mountPropagation": "Both"}, {"mountPropagation": "HostToContainer"}),
    "mount of a volume that the pod lacks": _mount({"name": "gone"}, {}),
    "mountPath twice": _container(
        "volumeMounts",
        [{"name": "data", "mountPath": "/data"}] * 2,
        [{"name": "data", "mountPath": "/data"}],
        volumes=[{"name": "data", "emptyDir": {}}],
    ),
    "dnsPolicy": _pod("dnsPolicy", "Cluster", "ClusterFirst"),
    "dnsPolicy without a nameserver": Case(
        job(dnsPolicy="None"), job(dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.10"]})
    ),
    "operating system": _pod("os", {"name": "plan9"}, {"name": "linux"}),
    "fields of Linux on Windows": Case(
        job(os={"name": "windows"}, securityContext={"runAsUser": 1000}), job(os={"name": "windows"})
    ),
    "request above the limit": _container(
        "resources", {"requests": {"cpu": 2}, "limits": {"cpu": 1}}, {"requests": {"cpu": 1}, "limits": {"cpu": 2}}
    ),
    "device without a limit": _container(
        "resources", {"requests": {"nvidia.com/gpu": 1}}, {"limits": {"nvidia.com/gpu": 1}}
    ),
    "device below its limit": _container(
        "resources",
        {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}},
        {"requests": {"nvidia.com/gpu": 2}, "limits": {"nvidia.com/gpu": 2}},
    ),
    "part of a device": _container(
        "resources", {"limits": {"nvidia.com/gpu": "0.5"}}, {"limits": {"nvidia.com/gpu": "1000m"}}
    ),
    "huge pages without a limit": _container(
        "resources",
        {"requests": {"hugepages-2Mi": "4Mi", "cpu": 1}},
        {"limits": {"hugepages-2Mi": "4Mi", "cpu": 1}},
    ),
    "huge pages alone": _container(
        "resources", {"limits": {"hugepages-2Mi": "4Mi"}}, {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}
    ),
    "half a huge page": _container(
        "resources",
        {"limits": {"hugepages-2Mi": "3Mi", "memory": "1Gi"}},
        {"limits": {"hugepages-2Mi": "2Mi", "memory": "1Gi"}},
    ),
    "unknown operator": _node_affinity(
        {"key": "zone", "operator": "in", "values": ["a"]}, {"key": "zone", "operator": "In", "values": ["a"]}
    ),
    "operator without values": _node_affinity({"key": "zone", "operator": "In"}, {"key": "zone", "operator": "Exists"}),
    "operator with values": _node_affinity(
        {"key": "zone", "operator": "Exists", "values": ["a"]}, {"key": "zone", "operator": "Exists"}
    ),
    "operator with two values": _node_affinity(
        {"key": "cpus", "operator": "Gt", "values": ["1", "2"]}, {"key": "cpus", "operator": "Gt", "values": ["1"]}
    ),
    "weight": _pod(
        "affinity",
        *(
            {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": w, "preference": p}]}}
            for w, p in (
                (0, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
                (1, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
            )
        ),
    ),
    "key of data": _named("ConfigMap", "v1", {"data": {"..a": ""}}, {"data": {".a": ""}}),
    "name of a Service": _named(
        "Service",
        "v1",
        {"metadata": {"name": "a.b"}, "spec": {"clusterIP": "None"}},
        {"metadata": {"name": "a-b"}, "spec": {"clusterIP": "None"}},
    ),
    "endPort": _named(
        "NetworkPolicy",
        "networking.k8s.io/v1",
        {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 9000, "endPort": 8000}]}]}},
        {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 8000, "endPort": 9000}]}]}},
    ),
    "except": _named(
        "NetworkPolicy",
        "networking.k8s.io/v1",
        {"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {**_BLOCK, "except": ["10.21.0.0/24"]}}]}]}},
        {"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {**_BLOCK, "except": ["10.20.1.0/24"]}}]}]}},
    ),
}
