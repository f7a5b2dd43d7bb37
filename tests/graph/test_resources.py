"""GPUs: the requests and nodes of a container, and the variable that hides all GPUs from a container without GPUs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tfgen.graph.built import plain_objects


def worker(resources: str, more: str = "") -> Any:
    """Return the pod spec of a worker."""
    document = yaml.safe_load(
        f"metadata: {{name: a}}\nspec: {{image: a:1, strategy: MultiWorkerMirrored, {more}"
        f"roles: {{worker: {{resources: {{{resources}}}}}}}}}"
    )
    (job,) = (made for made in plain_objects(document) if made["metadata"]["name"] == "a-worker")
    return job["spec"]["template"]["spec"]


def limits(pod: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod["containers"][0].get("resources", {}).get("limits", {})
    return found


def visible(pod: Any) -> str | None:
    return next(
        (each["value"] for each in pod["containers"][0]["env"] if each["name"] == "NVIDIA_VISIBLE_DEVICES"), None
    )


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ("gpu: {count: 2}", {"nvidia.com/gpu": 2}),
        ("gpu: {count: 1, resource: nvidia.com/mig-1g.5gb}", {"nvidia.com/mig-1g.5gb": 1}),
        ("gpu: {count: 8, resource: amd.com/gpu}", {"amd.com/gpu": 8}),
        ("gpu: {count: 1, resource: gpu.intel.com/i915}", {"gpu.intel.com/i915": 1}),
        (
            "gpu: {count: 8, resource: aliyun.com/gpu-mem, share: {aliyun.com/gpu-core.percentage: 30}}",
            {"aliyun.com/gpu-mem": 8, "aliyun.com/gpu-core.percentage": "30"},
        ),
        (
            "gpu: {count: 1, resource: volcano.sh/vgpu-number,"
            " share: {volcano.sh/vgpu-memory: 4096, volcano.sh/vgpu-cores: 50}}",
            {"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-memory": "4096", "volcano.sh/vgpu-cores": "50"},
        ),
        ("gpu: {share: {volcano.sh/vgpu-memory: 4096}}", {}),
        (
            "gpu: {count: 1, share: {nvidia.com/gpumem: 4096}}, limits: {nvidia.com/gpumem: 1}",
            {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "1"},
        ),
    ],
)
def test_what_is_asked_for(resources, expected):
    assert limits(worker(resources)) == expected


@pytest.mark.parametrize(
    "resources",
    [
        "gpu: {count: 1}",
        "gpu: {count: 1, resource: example.com/accelerator}",
        "gpu: {count: 1, resource: nvidia.com/mig-1g.5gb}",
        "gpu: {count: 8, resource: aliyun.com/gpu-mem}",
        "limits: {nvidia.com/gpu: 1}",
        'limits: {aliyun.com/gpu-mem: "4"}',
        "limits: {volcano.sh/vgpu-number: 1, volcano.sh/vgpu-memory: 1024}",
        "limits: {tencent.com/vcuda-core: 50}",
    ],
)
def test_a_task_with_a_gpu_sees_what_the_device_plugin_says(resources):
    assert visible(worker(resources)) is None


@pytest.mark.parametrize(
    "resources",
    [
        "",
        "cpu: 2, memory: 4Gi",
        "gpu: {count: 0, product: NVIDIA-L4, share: {volcano.sh/vgpu-memory: 4096}}",
        "limits: {nvidia.com/gpu: 0}",
        'limits: {nvidia.com/gpu: "0", ephemeral-storage: 1Gi}',
        "limits: {rdma/hca: 1}",
    ],
)
def test_a_task_without_a_gpu_sees_none(resources):
    assert visible(worker(resources)) == "void"


def test_the_job_may_say_what_is_seen():
    assert visible(worker("", "env: {NVIDIA_VISIBLE_DEVICES: all}, ")) == "all"


@pytest.mark.parametrize(
    ("label", "product"),
    [
        ("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"),
        ("cloud.google.com/gke-accelerator", "nvidia-l4"),
        ("karpenter.k8s.aws/instance-gpu-name", "a10g"),
        ("node.kubernetes.io/instance-type", "Standard_NC24ads_A100_v4"),
        ("aliyun.accelerator/nvidia_name", "Tesla-V100-SXM2-16GB"),
    ],
)
def test_the_product_by_the_label_of_each_cloud(label, product):
    pod = worker(f"gpu: {{count: 1, product: {product}, productLabel: {label}}}")
    assert pod["nodeSelector"] == {label: product}
