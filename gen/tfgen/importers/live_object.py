"""A live object as its user wrote it: without what the API server, its defaults and its controllers added.

    user_object({"kind": "StatefulSet", "metadata": {"uid": ..., "name": "a"}, "spec": ..., "status": ...})
        ->  {"kind": "StatefulSet", "metadata": {"name": "a"}, "spec": ...}

Defaults are those of Kubernetes' own kinds: pkg/apis/{core,apps,batch}/v1/defaults.go of Kubernetes. A custom kind has
none in its pods, which are its user's as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tfgen.importers.objects import LAST_APPLIED
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object

_OF_THE_USER: Final = ("annotations", "labels", "name", "namespace")
_OF_CONTROLLERS: Final = re.compile(
    r"kubectl\.kubernetes\.io/|deployment\.kubernetes\.io/|batch\.kubernetes\.io/|apps\.kubernetes\.io/"
    r"|(controller-uid|job-name|controller-revision-hash|pod-template-hash|statefulset\.kubernetes\.io/pod-name)$"
)
"""Labels and annotations that controllers and kubectl write."""
_OF_KUBERNETES: Final = ("", "apps", "batch")
_OF_THE_SPEC: Final[Mapping[str, Any]] = {
    "backoffLimit": 6,
    "completionMode": "NonIndexed",
    "completions": 1,
    "manualSelector": False,
    "minReadySeconds": 0,
    "parallelism": 1,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "podManagementPolicy": "OrderedReady",
    "podReplacementPolicy": "TerminatingOrFailed",
    "progressDeadlineSeconds": 600,
    "revisionHistoryLimit": 10,
    "suspend": False,
}
_OF_A_POD: Final[Mapping[str, Any]] = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccount": "default",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
}
_OF_A_CONTAINER: Final[Mapping[str, Any]] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_OF_A_PROBE: Final[Mapping[str, Any]] = {
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
}
_ACCOUNT_VOLUME: Final = "kube-api-access-"
"""How the name of the volume begins in which a pod has its account's token."""


def is_controlled(item: Object) -> bool:
    """Whether a controller made an object, or tfgen did."""
    metadata = item["metadata"]
    is_owned = any(owner.get("controller") for owner in metadata.get("ownerReferences", ()))
    return is_owned or keys.JOB in metadata.get("labels", {})


def user_object(item: Object) -> dict[str, Any]:
    """An object as its user wrote it."""
    group = item["apiVersion"].rpartition("/")[0]
    part_of = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    metadata = _metadata(item["metadata"])
    if group not in _OF_KUBERNETES:
        return {**part_of, "metadata": metadata}
    spec = dict(item.get("spec", {}))
    if item["kind"] == "Pod":
        return {**part_of, "metadata": metadata, "spec": _pod(spec)}
    spec = _without(spec, _OF_THE_SPEC)
    if "template" in spec:
        template = spec["template"]
        spec["template"] = {"metadata": _metadata(template.get("metadata", {})), "spec": _pod(template["spec"])}
        if item["kind"] == "Job":
            spec.pop("selector", None)
    return {**part_of, "metadata": metadata, "spec": spec}


def _without(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in defaults or defaults[key] != value}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    own = {key: metadata[key] for key in _OF_THE_USER if metadata.get(key)}
    for key in ("annotations", "labels"):
        texts = {name: text for name, text in own.pop(key, {}).items() if not _is_of_controllers(name)}
        own |= {key: texts} if texts else {}
    return own


def _is_of_controllers(name: str) -> bool:
    return name == LAST_APPLIED or _OF_CONTROLLERS.match(name) is not None


def _pod(spec: Mapping[str, Any]) -> dict[str, Any]:
    pod = _without(spec, _OF_A_POD)
    if pod.get("serviceAccount") == pod.get("serviceAccountName"):
        pod.pop("serviceAccount", None)
    for key in ("containers", "initContainers"):
        if key in pod:
            pod[key] = [_container(container) for container in pod[key]]
    volumes = [_volume(volume) for volume in pod.pop("volumes", ()) if not volume["name"].startswith(_ACCOUNT_VOLUME)]
    return {**pod, "volumes": volumes} if volumes else pod


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    own = _without(container, _OF_A_CONTAINER)
    if own.get("imagePullPolicy") == _pull_policy(own.get("image", "")):
        own.pop("imagePullPolicy")
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if key in own:
            own[key] = _without(own[key], _OF_A_PROBE)
    mounts = [mount for mount in own.pop("volumeMounts", ()) if not mount["name"].startswith(_ACCOUNT_VOLUME)]
    if mounts:
        own["volumeMounts"] = mounts
    if "ports" in own:
        own["ports"] = [_without(port, {"protocol": "TCP"}) for port in own["ports"]]
    if "env" in own:
        own["env"] = [_variable(variable) for variable in own["env"]]
    limits, requests = (own.get("resources", {}).get(key, {}) for key in ("limits", "requests"))
    left = {key: amount for key, amount in requests.items() if limits.get(key) != amount}
    if "resources" in own:
        rest = {key: value for key, value in own["resources"].items() if key != "requests"}
        own["resources"] = {**rest, "requests": left} if left else rest
    return own


def _pull_policy(image: str) -> str:
    """What Kubernetes takes where an image's policy is not said."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"


def _variable(variable: Mapping[str, Any]) -> dict[str, Any]:
    field = variable.get("valueFrom", {}).get("fieldRef")
    if field is None:
        return dict(variable)
    return {**variable, "valueFrom": {"fieldRef": _without(field, {"apiVersion": "v1"})}}


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without(source, {"defaultMode": 420, "type": ""}) if isinstance(source, Mapping) else source
        for key, source in volume.items()
    }
