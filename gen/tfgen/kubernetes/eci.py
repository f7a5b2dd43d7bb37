"""Annotations of pods on Alibaba Cloud's Elastic Container Instance, by the keys of ``cloud.eci`` in job.yaml.

Annotations: https://www.alibabacloud.com/help/en/eci/user-guide/pod-annotations; scheduling:
https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/comparison-and-introduction-of-virtual-node-scheduling-scheme-ack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TEXTS: Final[Mapping[str, str]] = {
    "gpu-type": "gpuType",
    "gpu-driver-version": "gpuDriverVersion",
    "instance-family": "instanceFamily",
    "spot-strategy": "spot.strategy",
    "spot-price-limit": "spot.priceLimit",
    "schedule-strategy": "vSwitchStrategy",
    "security-group": "securityGroup",
    "ram-role-name": "ramRole",
    "extra-ephemeral-storage": "ephemeralStorage",
    "image-snapshot-id": "imageCache.id",
}
"""The keys of `cloud.eci` with a single value, by the name of the pod annotation without the prefix."""
LISTS: Final[Mapping[str, str]] = {"use-specs": "specs", "vswitch": "vSwitches"}
"""The keys of `cloud.eci` with a list, by the name of the pod annotation without the prefix.

The value of such an annotation is a comma-separated list.
"""
IMAGE_CACHE: Final = "image-cache"
"""The annotation that requests an image cache. The only value of the annotation is "true"."""
NODE_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("type", "virtual-kubelet"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""For each way to schedule pods to ECI, the key and the value of the label of the virtual nodes."""
TAINTS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("virtual-kubelet.io/provider", "alibabacloud"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""For each way to schedule pods to ECI, the key and the value of the NoSchedule taint of the virtual nodes."""
