"""Elastic Container Instance (ECI) of Alibaba Cloud: the annotations and placement of the pods, and the image cache.

    cloud: {eci: {gpuType: P4, imageCache: {make: {size: 40}}}}

Annotations of a pod (`kubernetes/eci.py`) select the instance. ECI reads the annotations only when the pod is created.
The image cache: https://www.alibabacloud.com/help/en/eci/user-guide/use-imagecache-to-accelerate-the-creation-of-pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tfgen.graph.holes import AllOf, Equal, Expression, Join, Key, Name, Node, When, if_set
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import value
from tfgen.job.training_job import GitCode, Structure
from tfgen.kubernetes import eci, keys

_WAY: Final = "cloud.eci.way"


def _enabled() -> Expression:
    return value("cloud.eci.enabled")


def pod_annotations(structure: Structure) -> Mapping[Key, Node]:
    """Return the pod annotations that select the instance type of Elastic Container Instance (ECI) for the tasks."""
    if not structure.eci:
        return {}
    annotations: dict[str, Node] = {
        **{keys.ECI_PREFIX + key: if_set(value(f"cloud.eci.{path}")) for key, path in eci.TEXTS.items()},
        **{keys.ECI_PREFIX + key: _joined(f"cloud.eci.{path}") for key, path in eci.LISTS.items()},
        keys.ECI_PREFIX + eci.IMAGE_CACHE: When(value("cloud.eci.imageCache.match"), "true"),
    }
    return {key: When(_enabled(), annotations[key]) for key in sorted(annotations)}


def _joined(path: str) -> Node:
    return When(value(path), Join(value(path)))


def pod_labels(structure: Structure) -> Mapping[Key, Node]:
    """Return the pod label that makes the webhook of Alibaba Cloud run a pod on ECI without a virtual node."""
    return {keys.ECI: When(_uses_way("Label"), "true")} if structure.eci else {}


def node_selector(structure: Structure) -> Mapping[Name, Node]:
    """Return the node selector for the virtual nodes, which run their pods on ECI."""
    if not structure.eci:
        return {}
    return {label: When(_uses_way(way), text) for way, (label, text) in eci.NODE_LABELS.items()}


def tolerations(structure: Structure) -> tuple[Node, ...]:
    """Return the tolerations of the taints of the virtual nodes."""
    if not structure.eci:
        return ()
    return tuple(
        When(_uses_way(way), {"key": key, "operator": "Equal", "value": text, "effect": "NoSchedule"})
        for way, (key, text) in eci.TAINTS.items()
    )


def _uses_way(way: str) -> Expression:
    return AllOf((_enabled(), Equal(value(_WAY), way)))


def image_cache(structure: Structure) -> Node:
    """Return the ImageCache with the images of the tasks. All runs of the job share the cache."""
    tunable = [value("image"), *(value(f"roles.{role.name}.image") for role in structure.roles)]
    if isinstance(structure.code, GitCode):
        tunable.append(value("code.git.image"))
    path = "cloud.eci.imageCache.make"
    cache: Node = {
        "apiVersion": "eci.alibabacloud.com/v1",
        "kind": "ImageCache",
        "metadata": labels.metadata(
            names.JOB,
            annotations={**labels.BEFORE_PODS, keys.CACHE_REUSE: "true"},
        ),
        "spec": {
            "images": [*(When(image, image) for image in tunable), *_additional_images(structure)],
            "imagePullSecrets": value(f"{path}.pullSecrets"),
            "imageCacheSize": value(f"{path}.size"),
            "retentionDays": if_set(value(f"{path}.retentionDays")),
        },
    }
    return When(_enabled(), cache)


def _additional_images(structure: Structure) -> list[str]:
    """Return the images of init containers and sidecars, without duplicates."""
    templates = (structure.pod_template, *(role.pod_template for role in structure.roles))
    specs = [template.get("spec") or {} for template in templates]
    containers = [
        *(container for role in structure.roles for container in (*role.init_containers, *role.sidecars)),
        *(container for spec in specs for key in ("initContainers", "containers") for container in spec.get(key) or ()),
    ]
    return list(dict.fromkeys(container["image"] for container in containers if container.get("image")))
