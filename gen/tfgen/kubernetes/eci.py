"""What a pod says to run on Alibaba Cloud's Elastic Container Instance, by the keys of job.yaml's ``cloud.eci``.

Annotations: https://www.alibabacloud.com/help/en/eci/user-guide/pod-annotations; ways to ECI:
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
"""Annotations with one value, without their prefix."""
LISTS: Final[Mapping[str, str]] = {"use-specs": "specs", "vswitch": "vSwitches"}
"""Those with several, joined by commas."""
IMAGE_CACHE: Final = "image-cache"
"""The annotation that is "true" or not there."""
NODE_LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("type", "virtual-kubelet"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""The label of the nodes by which a way leads."""
TAINTS: Final[Mapping[str, tuple[str, str]]] = {
    "VirtualNode": ("virtual-kubelet.io/provider", "alibabacloud"),
    "VNode": ("k8s.aliyun.com/vnode", "true"),
}
"""Their taint, of the effect NoSchedule."""
