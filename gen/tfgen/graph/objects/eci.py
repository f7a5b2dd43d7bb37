"""Alibaba Cloud's Elastic Container Instance: what a pod says to run as one, and the cache of its images.

    cloud: {eci: {gpuType: P4, imageCache: {make: {size: 40}}}}

A pod says it by annotations (`kubernetes/eci.py`), which are read when it is made and never again. The cache:
https://www.alibabacloud.com/help/en/eci/user-guide/use-imagecache-to-accelerate-the-creation-of-pods.
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
    """What the pods of the tasks say of the instance that they want."""
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
    """The label by which Alibaba's webhook sends a pod to ECI, past every other rule of where it runs."""
    return {keys.ECI: When(_goes("Label"), "true")} if structure.eci else {}


def node_selector(structure: Structure) -> Mapping[Name, Node]:
    """What makes a scheduler send it there: the label of the virtual nodes."""
    if not structure.eci:
        return {}
    return {label: When(_goes(way), text) for way, (label, text) in eci.NODE_LABELS.items()}


def tolerations(structure: Structure) -> tuple[Node, ...]:
    """And their taint."""
    if not structure.eci:
        return ()
    return tuple(
        When(_goes(way), {"key": key, "operator": "Equal", "value": text, "effect": "NoSchedule"})
        for way, (key, text) in eci.TAINTS.items()
    )


def _goes(way: str) -> Expression:
    return AllOf((_enabled(), Equal(value(_WAY), way)))


def image_cache(structure: Structure) -> Node:
    """The cache of the images of the tasks' pods. It belongs to the cluster and to the job, not to a run."""
    tunable = [value("image"), *(value(f"roles.{role.name}.image") for role in structure.roles)]
    if isinstance(structure.code, GitCode):
        tunable.append(value("code.git.image"))
    path = "cloud.eci.imageCache.make"
    cache: Node = {
        "apiVersion": "eci.alibabacloud.com/v1",
        "kind": "ImageCache",
        "metadata": labels.metadata(
            names.JOB,
            annotations={**keys.BEFORE_PODS, keys.CACHE_REUSE: "true"},
        ),
        "spec": {
            "images": [*(When(image, image) for image in tunable), *_beside(structure)],
            "imagePullSecrets": value(f"{path}.pullSecrets"),
            "imageCacheSize": value(f"{path}.size"),
            "retentionDays": if_set(value(f"{path}.retentionDays")),
        },
    }
    return When(_enabled(), cache)


def _beside(structure: Structure) -> list[str]:
    """The images of what runs beside the tasks, each once."""
    templates = (structure.pod_template, *(role.pod_template for role in structure.roles))
    specs = [template.get("spec") or {} for template in templates]
    containers = [
        *(container for role in structure.roles for container in (*role.init_containers, *role.sidecars)),
        *(container for spec in specs for key in ("initContainers", "containers") for container in spec.get(key) or ()),
    ]
    return list(dict.fromkeys(container["image"] for container in containers if container.get("image")))
