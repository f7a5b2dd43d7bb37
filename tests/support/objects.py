"""The plain objects of a small job, whose spec is YAML or data.

objects("run: r1")["Service", "mnist-r1"]
pods("spot: true")["worker"]["spec"]["tolerations"]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.generated import job
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects


def job_with(spec: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a job with a spec. A spec that is a text is YAML."""
    return job(**((yaml.safe_load(spec) or {}) if isinstance(spec, str) else spec))


def objects(spec: str | Mapping[str, Any] = "", environment: str | None = None) -> dict[tuple[str, str], Any]:
    """Return the plain objects of a job by kind and name."""
    return {(item["kind"], item["metadata"]["name"]): item for item in plain_objects(job_with(spec), environment)}


def of_kind(kind: str, spec: str | Mapping[str, Any] = "", environment: str | None = None) -> list[Any]:
    """Return the plain objects of a kind."""
    return [item for (found, _), item in objects(spec, environment).items() if found == kind]


def pods(spec: str | Mapping[str, Any] = "", environment: str | None = None) -> dict[str, Any]:
    """Return the pods and pod templates by the component, such as `worker` or `tensorboard`."""
    made = objects(spec, environment).values()
    found = [item if item["kind"] == "Pod" else item.get("spec", {}).get("template") for item in made]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in found if pod}


def container(pod: Any, name: str = "tensorflow") -> Any:
    """Return a container or an init container of a pod or of a pod template."""
    spec = pod["spec"]
    return next(each for each in (*spec.get("initContainers", ()), *spec["containers"]) if each["name"] == name)


def rules(spec: str | Mapping[str, Any]) -> list[str]:
    """Return the rules of the problems of a job."""
    text = yaml.safe_dump(job_with(spec), allow_unicode=True)
    return [problem.rule for problem in check(text, "job.yaml").problems]
