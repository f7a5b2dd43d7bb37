"""Rendered objects of the jobs with custom workload kinds."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.built import plain_objects

OF_NO_JOB = (".argoproj.io.", ".toolkit.fluxcd.io.", ".admissionregistration.")
"""What tells a GitOps tool of a job, or what a job is held against, is no object of the job's."""


OURS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(ROOT.glob("schemas/*.json"))
    if not path.name.endswith((".schema.json", ".fields.json")) and not any(group in path.name for group in OF_NO_JOB)
}
"""By KIND.GROUP.VERSION, in lower case."""


def key_of(item: Mapping[str, Any]) -> str:
    group, _, version = item["apiVersion"].rpartition("/")
    return f"{item['kind']}.{group}.{version}".lower()


@functools.cache
def rendered() -> tuple[tuple[str, str, Mapping[str, Any]], ...]:
    """Each custom object of the goldens and examples: where it is from, its key, itself."""
    found = []
    for path in sorted([*ROOT.glob("tests/golden/*/job.yaml"), *ROOT.glob("examples/*/job.yaml")]):
        for document in check(path.read_bytes(), path.name).documents:
            for environment in (None, *document.data["spec"].get("environments", {})):
                objects = plain_objects(document.data, environment)
                place = f"{path.parent.name}-{environment or 'base'}"
                found += [(place, key_of(item), item) for item in objects if key_of(item) in OURS]
    return tuple(found)
