"""Objects with the default values that the API server sets. Admission policies check an object with these values.

The defaults are those of Kubernetes 1.36, for the kinds that tfgen renders and the kinds with pods:
https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go, .../apps/v1/defaults.go and
.../batch/v1/defaults.go. The defaults of admission plugins and of controllers are not included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tfgen.kubernetes import quantity
from tfgen.kubernetes.object import Object, group

_Fill = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_MODE: Final = 0o644
_MAX_INT32: Final = 2**31 - 1


def defaulted(item: Object) -> dict[str, Any]:
    """Return an object with the defaults of its kind. Unsupported kinds and invalid fields remain unchanged."""
    fill = _FILLS.get((group(item), item["kind"]))
    filled: dict[str, Any] = _plain(fill(item) if fill else item)
    return filled


def _plain(value: Any) -> Any:
    """Return a copy of a value in which each mapping is a dict, and each sequence is a list."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _at(value: Mapping[str, Any], key: str, fill: _Fill) -> Mapping[str, Any]:
    """Return a copy of `value` in which the function `fill` has added the defaults to the mapping at `key`.

    For a list at `key`, `fill` adds the defaults to each mapping in the list. Any other value at `key` remains
    unchanged. Example: `_at(spec, "containers", _container)` adds the defaults to each container of a PodSpec.
    """
    part = value.get(key)
    if isinstance(part, Mapping):
        return {**value, key: fill(part)}
    if isinstance(part, list | tuple):
        return {**value, key: [fill(item) if isinstance(item, Mapping) else item for item in part]}
    return value


def _amounts(value: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a copy of `value` in which the quantities under `keys` have the format of the API server.

    Example: for the resources of a container and the keys "limits" and "requests", `cpu: 0.5` becomes `cpu: 500m`.
    """
    for key in keys:
        value = _at(value, key, lambda amounts: {name: _amount(amount) for name, amount in amounts.items()})
    return value


def _amount(amount: Any) -> Any:
    try:
        return quantity.canonical(amount)
    except ValueError:
        return amount


# -- pods ----------------------------------------------------------------------------------------------------------


def _pod(item: Object) -> Mapping[str, Any]:
    return _at(
        item,
        "spec",
        lambda spec: _at(
            _at({"enableServiceLinks": True, **_pod_spec(spec)}, "containers", _with_requests),
            "initContainers",
            _with_requests,
        ),
    )


def _template(template: Mapping[str, Any]) -> Mapping[str, Any]:
    return _at(template, "spec", _pod_spec)


def _pod_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("containers", "initContainers"):
        spec = _at(spec, key, _container)
    spec = _at(spec, "volumes", _volume)
    account = spec.get("serviceAccountName")
    return {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        **({"serviceAccount": account} if account else {}),
        **spec,
    }


def _container(container: Mapping[str, Any]) -> Mapping[str, Any]:
    container = _at(container, "ports", lambda port: {"protocol": "TCP", **port})
    container = _at(container, "env", _variable)
    container = _at(container, "resources", lambda resources: _amounts(resources, "limits", "requests"))
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        container = _at(container, probe, _probe)
    container = _at(container, "lifecycle", lambda hooks: _at(_at(hooks, "preStop", _handler), "postStart", _handler))
    return {
        "imagePullPolicy": _pull_policy(container.get("image")),
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **container,
    }


def _with_requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """Set the missing requests of a container: if a resource has only a limit, the limit becomes the request."""
    return _at(container, "resources", _requested)


def _requested(resources: Mapping[str, Any]) -> Mapping[str, Any]:
    limits = resources.get("limits")
    requests = resources.get("requests") or {}
    return {**resources, "requests": {**limits, **requests}} if isinstance(limits, Mapping) else resources


def _pull_policy(image: Any) -> str:
    name, at, _ = str(image).partition("@")
    tag = re.search(r":([^/:]+)$", name)
    is_latest = tag[1] == "latest" if tag else not at
    return "Always" if is_latest else "IfNotPresent"


def _variable(variable: Mapping[str, Any]) -> Mapping[str, Any]:
    variable = {key: value for key, value in variable.items() if (key, value) != ("value", "")}
    return _at(variable, "valueFrom", _source)


def _source(source: Mapping[str, Any]) -> Mapping[str, Any]:
    source = _at(source, "fieldRef", lambda field: {"apiVersion": "v1", **field})
    return _at(source, "resourceFieldRef", lambda field: {"divisor": "0", **field})


def _probe(probe: Mapping[str, Any]) -> Mapping[str, Any]:
    times = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    return {**times, **_at(_handler(probe), "grpc", lambda grpc: {"service": "", **grpc})}


def _handler(handler: Mapping[str, Any]) -> Mapping[str, Any]:
    return _at(handler, "httpGet", lambda request: {"path": "/", "scheme": "HTTP", **request})


def _volume(volume: Mapping[str, Any]) -> Mapping[str, Any]:
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        volume = _at(volume, source, lambda files: _downward({"defaultMode": _MODE, **files}))
    volume = _at(volume, "projected", lambda files: _at(files, "sources", _projected))
    volume = _at(volume, "hostPath", lambda path: {"type": "", **path})
    volume = _at(volume, "emptyDir", lambda folder: _limited(folder))
    volume = _at(volume, "ephemeral", lambda claim: _at(claim, "volumeClaimTemplate", _claim))
    return volume if volume.keys() - {"name"} else {**volume, "emptyDir": {}}


def _limited(folder: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**folder, "sizeLimit": _amount(folder["sizeLimit"])} if "sizeLimit" in folder else folder


def _projected(source: Mapping[str, Any]) -> Mapping[str, Any]:
    source = _at(source, "serviceAccountToken", lambda token: {"expirationSeconds": 3600, **token})
    return _at(source, "downwardAPI", _downward)


def _downward(files: Mapping[str, Any]) -> Mapping[str, Any]:
    return _at(files, "items", _source)


# -- other kinds ---------------------------------------------------------------------------------------------------


def _claim(claim: Mapping[str, Any]) -> Mapping[str, Any]:
    return _at(
        claim,
        "spec",
        lambda spec: {
            "volumeMode": "Filesystem",
            **_at(spec, "resources", lambda resources: _amounts(resources, "limits", "requests")),
        },
    )


def _stateful_set(item: Object) -> Mapping[str, Any]:
    defaults = {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }
    return _at(
        item, "spec", lambda spec: {**defaults, **_at(_at(spec, "template", _template), "volumeClaimTemplates", _claim)}
    )


def _deployment(item: Object) -> Mapping[str, Any]:
    defaults = {
        "replicas": 1,
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
    }
    return _at(item, "spec", lambda spec: {**defaults, **_at(spec, "template", _template)})


def _job(item: Object) -> Mapping[str, Any]:
    return _at(item, "spec", _job_spec)


def _job_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    is_alone = "completions" not in spec and "parallelism" not in spec
    per_index = "backoffLimitPerIndex" in spec
    spec = _at(spec, "template", _template)
    spec = _at(spec, "podFailurePolicy", lambda policy: _at(policy, "rules", _failure_rule))
    return {
        **({"completions": 1} if is_alone else {}),
        "parallelism": 1,
        "backoffLimit": _MAX_INT32 if per_index else 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "suspend": False,
        **spec,
    }


def _failure_rule(rule: Mapping[str, Any]) -> Mapping[str, Any]:
    return _at(rule, "onPodConditions", lambda condition: {"status": "True", **condition})


def _cron_job(item: Object) -> Mapping[str, Any]:
    defaults = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    return _at(item, "spec", lambda spec: {**defaults, **_at(spec, "jobTemplate", _job)})


def _service(item: Object) -> Mapping[str, Any]:
    return _at(item, "spec", _service_spec)


def _service_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    defaults: dict[str, Any] = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
    if spec.get("type") in ("NodePort", "LoadBalancer") or spec.get("externalIPs"):
        defaults["externalTrafficPolicy"] = "Cluster"
    if spec.get("type") == "LoadBalancer":
        defaults["allocateLoadBalancerNodePorts"] = True
    return {**defaults, **_at(spec, "ports", _port)}


def _port(port: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"protocol": "TCP", **({"targetPort": port["port"]} if "port" in port else {}), **port}


def _network_policy(item: Object) -> Mapping[str, Any]:
    return _at(item, "spec", _policy_spec)


def _policy_spec(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    for direction in ("ingress", "egress"):
        spec = _at(spec, direction, lambda rule: _at(rule, "ports", lambda port: {"protocol": "TCP", **port}))
    return {"policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"], **spec}


def _binding(item: Object) -> Mapping[str, Any]:
    item = _at(item, "roleRef", lambda role: {"apiGroup": _RBAC, **role})
    return _at(
        item,
        "subjects",
        lambda subject: {**({} if subject.get("kind") == "ServiceAccount" else {"apiGroup": _RBAC}), **subject},
    )


def _quota(item: Object) -> Mapping[str, Any]:
    return _at(item, "spec", lambda spec: _amounts(spec, "hard"))


def _range(item: Object) -> Mapping[str, Any]:
    keys = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    return _at(item, "spec", lambda spec: _at(spec, "limits", lambda limit: _amounts(limit, *keys)))


_RBAC: Final = "rbac.authorization.k8s.io"

_FILLS: Final[Mapping[tuple[str, str], Callable[[Object], Mapping[str, Any]]]] = {
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "ResourceQuota"): _quota,
    ("", "LimitRange"): _range,
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    (_RBAC, "RoleBinding"): _binding,
}
