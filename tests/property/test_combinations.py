"""Every workload kind with every key of the schema, alone and in random pairs, before a user tries the pair.

The values are the examples of the schema. The check must end, with or without problems. The test renders each accepted
job: objects, overlays, GitOps objects, and the chart. The chart depends only on the structure of a job, so the test
prints one chart for each structure.

Rules do not see a job that the schema refuses. So each value has the other keys that the schema requires, and for a
value of an environment the job has the section that the environment changes.
"""

from __future__ import annotations

import functools
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from tests.support.generated import SCHEMA, Document
from tfgen.check.jobs import check
from tfgen.check.object_schemas import ObjectSchemas
from tfgen.check.objects import check_objects
from tfgen.data_path import Path
from tfgen.errors import has_errors
from tfgen.graph.graph import build
from tfgen.schema.file import Schema, is_record, node, resolve
from tfgen.schema.kinds import WORKLOAD_KINDS, WorkloadKind, lacking
from tfgen.targets.chart.chart import chart
from tfgen.targets.gitops import gitops
from tfgen.targets.kustomize.overlays import kustomize

PAIRS = 700

pytestmark = pytest.mark.long

DISTRIBUTED: Document = {"roles": {"chief": {}, "ps": {}, "worker": {}}}
LEAST: Mapping[WorkloadKind, Document] = {
    "StatefulSet": DISTRIBUTED,
    "Job": DISTRIBUTED,
    "TFJob": DISTRIBUTED,
    "VolcanoJob": DISTRIBUTED,
    "JobSet": DISTRIBUTED,
    "Pod": {"strategy": "Single", "roles": {"chief": {}}},
    "ElasticDL": {"roles": {"ps": {}, "worker": {}}, "security": {"profile": "baseline"}},
}
"""The roles of a workload kind, and the other keys of the smallest job that the schema and the rules accept."""

ROLES = ("chief", "ps", "worker", "evaluator")


class Key(NamedTuple):
    """A path of the spec, and the smallest spec with an example for the path and with the keys that it needs."""

    path: Path
    spec: Document


@functools.cache
def keys() -> tuple[Key, ...]:
    """Return every key of the spec with every example, choice and boolean of the schema. Each spec occurs once."""
    root = {key: found for key, found in SCHEMA["properties"]["spec"].items() if key not in ("examples", "required")}
    return tuple({json.dumps(spec): Key(path, spec) for path, spec in values(root, frozenset())}.values())


def values(written: Schema, above: frozenset[str]) -> Iterator[tuple[Path, Any]]:
    """Yield paths below a node, each with a value of the node that sets the path. Stop at recursive definitions."""
    if written.get("$ref") in above:
        return
    above |= {written["$ref"]} if "$ref" in written else set()
    found = resolve(SCHEMA, written)
    truths = [True, False] if found.get("type") == "boolean" else []
    yield from (((), value) for value in (*found.get("examples", ()), *found.get("enum", ()), *truths))
    for key, inner in found.get("properties", {}).items():
        yield from (((key, *path), completed(found, key, value)) for path, value in values(inner, above))
    if isinstance(found.get("additionalProperties"), dict):
        known = example(found)
        name = next(iter(known), "one") if isinstance(known, dict) else "one"
        yield from (((name, *path), {name: value}) for path, value in values(found["additionalProperties"], above))
    if "items" in found:
        yield from (((0, *path), [value]) for path, value in values(found["items"], above))


def completed(record: Schema, key: str, value: Any) -> Document:
    """Return a record with one key, and with the other keys that the schema requires."""
    choices = [choice["required"][0] for choice in record.get("oneOf", ())]
    wanted = [*record.get("required", ()), *record.get("dependencies", {}).get(key, ())]
    wanted += choices[:1] if key not in choices else []
    return {**{other: example(resolve(SCHEMA, record["properties"][other])) for other in wanted}, key: value}


def example(found: Schema) -> Any:
    return next(iter((*found.get("examples", ()), *found.get("enum", ()))), {})


def job(kind: WorkloadKind, *said: Key) -> str:
    """Return a job of a workload kind with some keys. If two keys contradict each other, the first key wins."""
    spec: Any = {"image": "registry.example.com/ml/mnist:1.4.0", **LEAST[kind]}
    for key in reversed(said):
        spec = merged(merged(spec, section(key.path)), key.spec)
    spec = merged(spec, {"workload": {"kind": kind}})
    metadata = {"name": "mnist", "namespace": "ml"}
    return json.dumps({"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": metadata, "spec": spec})


def section(path: Path) -> Document:
    """Return the section of the job, with its example, that the path of an environment needs, or {}."""
    found = node(SCHEMA, ("spec", *path[2:3])) if path[:1] == ("environments",) and len(path) > 2 else None
    return {path[2]: example(found)} if found and is_record(found) and "default" not in found else {}


def values_path(path: Path) -> Path:
    return path[2:] if path[:1] == ("environments",) else path


def merged(under: Any, over: Any) -> Any:
    if not isinstance(over, Mapping):
        return over
    below = under if isinstance(under, Mapping) else {}
    return {**below, **{key: merged(below.get(key), value) for key, value in over.items()}}


def ends_well(texts: Iterable[str]) -> Counter[str]:
    """Check each job, render each accepted job, and return the numbers of refused and rendered jobs."""
    count: Counter[str] = Counter()
    charts: set[str] = set()
    for text in texts:
        try:
            count[_ends_well(text, charts)] += 1
        except Exception as error:
            error.add_note(text)
            raise
    return count


def _ends_well(text: str, charts: set[str]) -> str:
    checked = check(text, "job.yaml")
    if has_errors(checked.problems):
        return "refused"
    (document,) = checked.documents
    built = build(document.data)
    check_objects(document, built, ObjectSchemas(None))
    kustomize(built)
    if built.job.gitops:
        gitops(built.job, built.environments)
    structure = repr(built.job.structure)
    if structure not in charts:
        charts.add(structure)
        chart(built.job, document.data["spec"])
    return "rendered"


@pytest.mark.parametrize("kind", WORKLOAD_KINDS)
def test_each_key_alone(kind: WorkloadKind) -> None:
    """Test the first value of each tunable, and all values of other keys. Each workload kind tests one role."""
    role = ROLES[WORKLOAD_KINDS.index(kind) % len(ROLES)]
    chosen: dict[Any, Key] = {}
    for key in keys():
        if key.path[:1] != ("environments",) and (key.path[:1] != ("roles",) or key.path[1:2] in ((), (role,))):
            is_tunable = node(SCHEMA, ("spec", "environments", "prod", *key.path)) is not None
            chosen.setdefault(key.path if is_tunable else json.dumps(key.spec), key)
    count = ends_well(job(kind, key) for key in chosen.values())
    assert count.total() > 300
    assert min(count["rendered"], count["refused"]) > 20


@pytest.mark.parametrize("kind", WORKLOAD_KINDS)
def test_random_pairs(kind: WorkloadKind) -> None:
    """Draw half of the pairs from keys that the workload kind supports, so that tfgen renders enough of them."""
    draw = random.Random(kind)
    drawn_from = (keys(), [key for key in keys() if not lacking({"workload": {"kind": kind}}, values_path(key.path))])
    count = ends_well(job(kind, *draw.sample(drawn_from[i % 2], 2)) for i in range(PAIRS // len(WORKLOAD_KINDS) + 1))
    assert min(count["rendered"], count["refused"]) > 5
