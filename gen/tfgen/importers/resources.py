"""Converter of a foreign container's resource requests and limits to the ``resources`` of a role.

For example, the limits ``{cpu: 4, nvidia.com/gpu: 1}`` with the requests ``{cpu: 4, memory: 8Gi}`` become
``{cpu: 4, requests: {memory: 8Gi}, gpu: {count: 1}}``.
"""

from __future__ import annotations

from typing import Any, Final

from tfgen.data_path import Path
from tfgen.importers.import_report import ImportReport
from tfgen.importers.part import Part
from tfgen.kubernetes import quantity

NVIDIA_GPU: Final = "nvidia.com/gpu"
ALPHA_GPU: Final = "alpha.kubernetes.io/nvidia-gpu"
"""The resource name of NVIDIA GPUs before Kubernetes 1.10."""
_GPUS: Final = (NVIDIA_GPU, "amd.com/gpu", "gpu.intel.com/i915")

_LARGEST: Final = 999_999
"""The largest amount that the import writes as a number. A larger amount becomes a quoted string."""


def translate(part: Part, target: Path, report: ImportReport) -> dict[str, Any]:
    """Convert the requests and limits of a container to the ``resources`` of a role."""
    requests, limits = dict(part.entries("requests")), dict(part.entries("limits"))
    data: dict[str, Any] = {"requests": {}, "limits": {}}
    for name in dict.fromkeys((*limits, *requests)):
        request, limit = requests.get(name), limits.get(name)
        if name in (*_GPUS, ALPHA_GPU) and _is_count(limit or request) and "gpu" not in data:
            _gpu(name, request, limit, data, target, report)
        elif name in ("cpu", "memory") and limit and (request is None or _is_equal(request, limit)):
            data[name] = _amount(limit)
            _carry(report, (request, limit), (*target, name))
        else:
            if limit:
                data["limits"][name] = _amount(limit)
                report.carry(limit, *target, "limits", name)
            if request and not (limit and "/" in name and _is_equal(request, limit)):
                data["requests"][name] = _amount(request)
                report.carry(request, *target, "requests", name)
            elif request:
                report.carry(request, *target, "limits", name)
    for key, field in part.entries():
        if key not in ("requests", "limits"):
            report.drop(field, "job.yaml has only requests and limits; set resource claims in podTemplate")
    order = ("cpu", "memory", "requests", "limits", "gpu")
    return {key: data[key] for key in order if data.get(key)}


def _gpu(
    name: str, request: Part | None, limit: Part | None, data: dict[str, Any], target: Path, report: ImportReport
) -> None:
    count = limit or request
    assert count is not None  # noqa: S101 - one of the two has the name
    if count.value in (0, "0"):
        _carry(report, (request, limit), (*target, "gpu"), why="a role has no GPU by default")
        return
    data["gpu"] = {"count": int(count.as_text)}
    if name == ALPHA_GPU:
        for part in (request, limit):
            if part:
                report.change(
                    part, *target, "gpu", "count", why=f"Kubernetes 1.10 renamed the resource to {NVIDIA_GPU}"
                )
        return
    if name != NVIDIA_GPU:
        data["gpu"]["resource"] = name
    _carry(report, (request, limit), (*target, "gpu", "count"))


def _carry(report: ImportReport, parts: tuple[Part | None, ...], target: Path, why: str = "") -> None:
    for part in parts:
        if part:
            report.carry(part, *target, why=why)


def _is_count(part: Part | None) -> bool:
    return part is not None and part.as_text.isdecimal() and len(part.as_text) < 8


def _amount(part: Part) -> int | str:
    return int(part.as_text) if _is_count(part) and int(part.as_text) <= _LARGEST else part.as_text


def _is_equal(request: Part, limit: Part) -> bool:
    try:
        return quantity.parse(request.as_text) == quantity.parse(limit.as_text)
    except ValueError:
        return request.as_text == limit.as_text
