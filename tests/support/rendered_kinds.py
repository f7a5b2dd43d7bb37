"""Rendered objects of the jobs with custom workload kinds."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects

OF_NO_JOB = (".argoproj.io.", ".toolkit.fluxcd.io.", ".admissionregistration.")
"""Groups of the objects that configure GitOps tools or admission policies. These objects are not part of a job."""


OURS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("schemas/*.json"))
    if not path.name.endswith((".schema.json", ".fields.json")) and not any(group in path.name for group in OF_NO_JOB)
}
"""Schemas by KIND.GROUP.VERSION, in lower case."""


def key_of(item: Mapping[str, Any]) -> str:
    group, _, version = item["apiVersion"].rpartition("/")
    return f"{item['kind']}.{group}.{version}".lower()


JOBS = sorted(
    path for folder in ("tests/golden", "tests/data/gangs", "examples") for path in ROOT.glob(f"{folder}/*/job.yaml")
)


@functools.cache
def rendered() -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """Return each custom object of the jobs as its origin, its key and the object."""
    found = []
    for path in JOBS:
        for document in check(path.read_bytes(), path.name).documents:
            for environment in (None, *document.data["spec"].get("environments", {})):
                objects = plain_objects(document.data, environment)
                place = f"{path.parent.name}-{environment or 'base'}"
                found += [(place, key_of(item), item) for item in objects if key_of(item) in OURS]
    return tuple(found)
