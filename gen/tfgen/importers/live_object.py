"""Removal of the fields that the API server and the controllers added to a live object.

For example, `user_object` removes `status` and `metadata.uid`. In objects of built-in kinds, `user_object` also removes
the fields with default values (see pkg/apis/{core,apps,batch}/v1/defaults.go of Kubernetes). The API server adds no
defaults to the pod templates of custom kinds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tfgen.importers.objects import LAST_APPLIED
from tfgen.kubernetes import keys
from tfgen.kubernetes.object import Object

_USER_METADATA: Final = ("annotations", "labels", "name", "namespace")
_ADDED_KEY: Final = re.compile(
    r"kubectl\.kubernetes\.io/|deployment\.kubernetes\.io/|batch\.kubernetes\.io/|apps\.kubernetes\.io/"
    r"|(controller-uid|job-name|controller-revision-hash|pod-template-hash|statefulset\.kubernetes\.io/pod-name)$"
)
"""Labels and annotations that controllers and kubectl add."""
_BUILT_IN_GROUPS: Final = ("", "apps", "batch")
_SPEC_DEFAULTS: Final[Mapping[str, Any]] = {
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
_POD_DEFAULTS: Final[Mapping[str, Any]] = {
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
_CONTAINER_DEFAULTS: Final[Mapping[str, Any]] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS: Final[Mapping[str, Any]] = {
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
}
_ACCESS_VOLUME: Final = "kube-api-access-"
"""The name prefix of the volume that the API server adds for the token of the service account."""


def is_generated(item: Object) -> bool:
    """Return True if a controller or tfgen created an object. The user wrote all other objects."""
    metadata = item["metadata"]
    is_owned = any(owner.get("controller") for owner in metadata.get("ownerReferences", ()))
    return is_owned or keys.JOB in metadata.get("labels", {})


def user_object(item: Object) -> dict[str, Any]:
    """Return a live object with only the fields that the user wrote."""
    group = item["apiVersion"].rpartition("/")[0]
    fields = {key: value for key, value in item.items() if key not in ("metadata", "status")}
    metadata = _metadata(item["metadata"])
    if group not in _BUILT_IN_GROUPS:
        return {**fields, "metadata": metadata}
    spec = dict(item.get("spec", {}))
    if item["kind"] == "Pod":
        return {**fields, "metadata": metadata, "spec": _pod(spec)}
    spec = _without_defaults(spec, _SPEC_DEFAULTS)
    if "template" in spec:
        template = spec["template"]
        spec["template"] = {"metadata": _metadata(template.get("metadata", {})), "spec": _pod(template["spec"])}
        if item["kind"] == "Job":
            spec.pop("selector", None)
    return {**fields, "metadata": metadata, "spec": spec}


def _without_defaults(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in defaults or defaults[key] != value}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    user_metadata = {key: metadata[key] for key in _USER_METADATA if metadata.get(key)}
    for key in ("annotations", "labels"):
        texts = {name: text for name, text in user_metadata.pop(key, {}).items() if not _is_added(name)}
        user_metadata |= {key: texts} if texts else {}
    return user_metadata


def _is_added(name: str) -> bool:
    return name == LAST_APPLIED or _ADDED_KEY.match(name) is not None


def _pod(spec: Mapping[str, Any]) -> dict[str, Any]:
    pod = _without_defaults(spec, _POD_DEFAULTS)
    if pod.get("serviceAccount") == pod.get("serviceAccountName"):
        pod.pop("serviceAccount", None)
    for key in ("containers", "initContainers"):
        if key in pod:
            pod[key] = [_container(container) for container in pod[key]]
    volumes = [_volume(volume) for volume in pod.pop("volumes", ()) if not volume["name"].startswith(_ACCESS_VOLUME)]
    return {**pod, "volumes": volumes} if volumes else pod


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    fields = _without_defaults(container, _CONTAINER_DEFAULTS)
    if fields.get("imagePullPolicy") == _default_pull_policy(fields.get("image", "")):
        fields.pop("imagePullPolicy")
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if key in fields:
            fields[key] = _without_defaults(fields[key], _PROBE_DEFAULTS)
    mounts = [mount for mount in fields.pop("volumeMounts", ()) if not mount["name"].startswith(_ACCESS_VOLUME)]
    if mounts:
        fields["volumeMounts"] = mounts
    if "ports" in fields:
        fields["ports"] = [_without_defaults(port, {"protocol": "TCP"}) for port in fields["ports"]]
    if "env" in fields:
        fields["env"] = [_variable(variable) for variable in fields["env"]]
    if "resources" in fields:
        # Without a request, Kubernetes sets the request to the limit.
        resources = dict(fields["resources"])
        requests = _without_defaults(resources.pop("requests", {}), resources.get("limits", {}))
        fields["resources"] = {**resources, "requests": requests} if requests else resources
    return fields


def _default_pull_policy(image: str) -> str:
    """Return the imagePullPolicy that Kubernetes sets by default: Always for the tag latest or no tag."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"


def _variable(variable: Mapping[str, Any]) -> dict[str, Any]:
    field = variable.get("valueFrom", {}).get("fieldRef")
    if field is None:
        return dict(variable)
    return {**variable, "valueFrom": {"fieldRef": _without_defaults(field, {"apiVersion": "v1"})}}


def _volume(volume: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_defaults(source, {"defaultMode": 420, "type": ""}) if isinstance(source, Mapping) else source
        for key, source in volume.items()
    }
