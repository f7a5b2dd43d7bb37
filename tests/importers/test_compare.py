"""Tests that the import report contains what the comparison finds, whatever the readers say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen import data_path
from tfgen.commands.import_ import Imported, ImportedJob, ImportSource, import_jobs
from tfgen.errors import Position
from tfgen.graph.graph import plain_objects
from tfgen.importers import pod, tf_job
from tfgen.importers.compare import VariantComparison, bare_job
from tfgen.importers.part import scalar_part
from tfgen.importers.table import Conversion, FieldReader, Notes, Options
from tfgen.words import path_name

CASES = ("tfjob-pull-secrets", "tfjob-mirrored-pull-secrets", "hand-written-pull-secrets")
SHM = ("spec", "shm")
"""The key sets the size of a volume. The mount of the volume needs only a key with any value."""
SECRETS = ("spec", "imagePullSecrets")


def imported(case: str, kind: Any = "StatefulSet") -> Imported:
    manifest = ROOT / "tests" / "importers" / case / "manifest.yaml"
    return import_jobs([ImportSource("manifest.yaml", Path(manifest).read_bytes())], Options(kind=kind))


def unexplained(case: str, kind: Any = "StatefulSet") -> list[str]:
    entries = imported(case, kind).entries
    return [f"{entry.outcome} {entry.source}: {entry.why}" for entry in entries if not entry.is_explained]


def differences(job: ImportedJob, data: dict[str, Any]) -> list[str]:
    """Return the differences without a reason between the source of a job and other data of the job."""
    ((environment, variant),) = job.variants.items()
    objects = plain_objects(data, environment), plain_objects(bare_job(data), environment)
    comparison = VariantComparison(variant, data, environment, *objects)
    return [str(entry) for entry in comparison.all_entries if not entry.is_explained]


@pytest.mark.parametrize("case", CASES)
def test_a_pull_secret_of_another_role_is_explained(case: str) -> None:
    assert unexplained(case) == []
    entries = [entry for entry in imported(case).entries if "imagePullSecrets" in entry.why]
    assert {(entry.outcome, entry.is_told) for entry in entries} == {("changed", True)}


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet"])
@pytest.mark.parametrize("case", ["tfjob-rich", "jobset-kept", "hand-written-jobs"])
def test_each_difference_has_a_reason_with_any_workload_kind(case: str, kind: str) -> None:
    assert unexplained(case, kind) == []


@pytest.mark.parametrize("case", CASES)
def test_a_pull_secret_that_no_pod_had_is_a_difference(case: str) -> None:
    (job,) = imported(case).jobs
    data = data_path.with_value(job.data, SECRETS, [*data_path.at(job.data, SECRETS), {"name": "mirror"}])
    lines = differences(job, data)
    assert lines
    assert {line for line in lines if "imagePullSecrets.mirror" not in line} == set()


ADDED = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec:
  tfReplicaSpecs:
    PS: &replica
      restartPolicy: Never
      template:
        spec:
          hostNetwork: true
          topologySpreadConstraints:
          - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
          containers:
          - {name: tensorflow, image: "x:1", command: [python], resources: {limits: {cpu: 1}}}
    Worker: *replica
"""
"""A job with fields for which tfgen adds other fields to the pods."""
ENV = ("spec", "containers", 0, "env")
HASH = ("metadata", "labels", "tfgen/pod-template-hash")
SELECTOR = ("spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels")
WRONG_VALUES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a label of tfgen": (("metadata", "labels", "tfgen/job"), "other"),
    "a label of Kubernetes": (("metadata", "labels", "app.kubernetes.io/name"), "other"),
    "another label of tfgen": (("metadata", "labels", "tfgen/other"), "x"),
    "an annotation of tfgen": (("metadata", "annotations"), {"tfgen/other": "x"}),
    "the hash": (HASH, "0123456789ab"),
    "a size of a thread pool": (
        (*ENV, "OMP_NUM_THREADS", "valueFrom", "resourceFieldRef", "resource"),
        "limits.memory",
    ),
    "the number of inter-op threads": ((*ENV, "TF_NUM_INTEROP_THREADS", "value"), "1"),
    "another size": ((*ENV, "+"), {"name": "TF_NUM_OTHER", "value": "1"}),
    "the GPUs": ((*ENV, "NVIDIA_VISIBLE_DEVICES", "value"), "all"),
    "the DNS policy": (("spec", "dnsPolicy"), "Default"),
    "the root file system": (("spec", "containers", 0, "securityContext", "readOnlyRootFilesystem"), True),
    "the network": (("spec", "hostPID"), True),
    "the counted pods": ((*SELECTOR, "tfgen/role"), "chief"),
    "more counted pods": ((*SELECTOR, "tfgen/other"), "x"),
    "a limit": (("spec", "containers", 0, "resources", "limits", "memory"), "1Gi"),
    "an affinity": (("spec", "affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution"), ["tfgen/"]),
}
"""Field that tfgen adds to a pod -> the path of the field, and a value that tfgen does not add."""


def with_field(pod: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    if path[:4] == ENV:
        names = [item["name"] for item in data_path.follow(pod, ENV)]
        path = (*ENV, names.index(path[4]) if path[4] in names else len(names), *path[5:])
    return dict(data_path.with_value(pod, path, value))


@pytest.mark.parametrize("field", WRONG_VALUES)
def test_a_field_that_tfgen_adds_must_have_the_value_of_tfgen(field: str) -> None:
    (job,) = import_jobs([ImportSource("a.yaml", ADDED.encode())], Options()).jobs
    assert [entry for entry in job.comparisons[None].all_entries if not entry.is_explained] == []
    path, value = WRONG_VALUES[field]
    template = ("spec", "template")
    objects = []
    for item in plain_objects(job.data):
        pod = data_path.at(item, template)
        is_task = data_path.has(pod, ("metadata", "labels", "tfgen/role"))
        objects.append(data_path.with_value(item, template, with_field(pod, path, value)) if is_task else item)
    comparison = VariantComparison(job.variants[None], job.data, None, objects, plain_objects(bare_job(job.data)))
    lines = [entry.why or entry.source for entry in comparison.all_entries if not entry.is_explained]
    # A pod template with another value has another hash.
    assert [line for line in lines if "pod-template-hash" in line]
    names = ("tfgen/other", "TF_NUM_OTHER", *(str(step) for step in path[-2:]))
    assert [line for line in lines if path == HASH or "hash" not in line]
    assert all("hash" in line or any(name in line for name in names) for line in lines)


A, B, PREFIXED = (
    {"configMapRef": {"name": "a"}},
    {"secretRef": {"name": "b"}},
    {"prefix": "C_", "configMapRef": {"name": "c"}},
)
OTHER = {"prefix": "D_", "configMapRef": {"name": "d"}}
INIT = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]


@pytest.mark.parametrize(
    ("field", "before", "after", "is_reported"),
    [
        ("envFrom", [A, B], [B, A], True),
        ("envFrom", [A, PREFIXED, OTHER], [PREFIXED, A, OTHER], True),
        ("envFrom", [A, PREFIXED, OTHER], [A, OTHER, PREFIXED], False),
        ("envFrom", [A, B, A], [B, A], False),
        ("initContainers", INIT, INIT[::-1], True),
    ],
)
def test_another_order_is_a_difference_if_the_order_matters(
    field: str, before: list[Any], after: list[Any], is_reported: bool
) -> None:
    """A variable of two sources has the value of the last source, and init containers run one after the other."""
    pod: Any = {"containers": [{"name": "tensorflow", "image": "x:1"}]}
    path = ("spec", "containers", 0, field) if field == "envFrom" else ("spec", field)
    template = data_path.with_value({"spec": pod}, path, before)
    spec = {"tfReplicaSpecs": {"Worker": {"replicas": 2, "restartPolicy": "Never", "template": template}}}
    item = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "m"}, "spec": spec}
    (job,) = import_jobs([ImportSource("a.yaml", json.dumps(item, indent=1).encode())], Options()).jobs
    assert differences(job, dict(job.data)) == []
    key = ("spec", field) if data_path.has(job.data, ("spec", field)) else ("spec", "roles", "worker", field)
    lines = differences(job, data_path.with_value(job.data, key, after))
    assert bool(lines) == is_reported
    assert all(f"the imported job has another order of {field}" in line for line in lines)


WRONG = {
    "tolerations": ("dropped", "spec.tolerations"),
    "serviceAccountName": ("dropped", "spec.serviceAccountName"),
    "nodeSelector": ("dropped", "spec.nodeSelector"),
    "priorityClassName": ("dropped", "spec.priorityClassName"),
    "hostNetwork": ("dropped", "spec.hostNetwork"),
}
"""Field of a pod that a wrong importer drops -> the outcome and the end of the field's name in the report."""


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_importer_that_drops_a_field_is_caught(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = FieldReader.fields

    def without(reader: FieldReader, part: Any, table: Any) -> None:
        fields(reader, part, {**table, field: None})

    monkeypatch.setattr(FieldReader, "fields", without)
    outcome, name = WRONG[field]
    found = [line for line in unexplained("tfjob-rich") if line.startswith(outcome) and name in line]
    assert len(found) == 4, "each of the four roles has the field"


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (Conversion("carried", ("spec", "retries")), "backoffLimit"),
        (Conversion("changed", ("spec", "retries"), "any reason"), "backoffLimit"),
        (Conversion("carried", ("spec", "run")), "activeDeadlineSeconds"),
    ],
)
def test_a_note_with_the_wrong_key_is_no_reason(row: Conversion, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of the table names a key that has another value."""
    monkeypatch.setattr(tf_job, "_POLICY", {**tf_job._POLICY, field: row._replace(sets=False)})
    assert [line for line in unexplained("tfjob-rich") if f"spec.runPolicy.{field}" in line]


def test_a_reason_for_a_dropped_field_does_not_explain_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    put = FieldReader.put

    def wrong(reader: FieldReader, part: Any, value: Any, *path: str | int) -> None:
        put(reader, part, "wrong:1" if path[-1] == "image" else value, *path)
        reader.notes.reason(part, "any reason")

    monkeypatch.setattr(FieldReader, "put", wrong)
    lines = [line for line in unexplained("tfjob-first") if line.startswith("changed") and "].image" in line]
    assert lines
    assert all('and is "wrong:1"' in line for line in lines)


def test_a_sidecar_that_loses_its_image_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pod._PodReader._container_data

    def wrong(reader: Any, *args: Any) -> dict[str, Any]:
        return {**data(reader, *args), "image": "other:1"}

    monkeypatch.setattr(pod._PodReader, "_container_data", wrong)
    assert [line for line in unexplained("tfjob-rich") if 'was "fluentbit:2" and is "other:1"' in line]


def test_notes_without_a_part_of_the_user_are_ignored() -> None:
    notes = Notes()
    notes.reason(scalar_part("submit.sh", Position(1, 1), "arena", "tfjob"), "a default of Arena's chart")
    assert notes.reasons == {}


def test_a_carried_field_without_a_key_must_have_its_default_or_be_in_an_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader that says "carried" and names no key is believed only for a default."""
    wrong = {**tf_job._POLICY, "ttlSecondsAfterFinished": Conversion("carried", (), "tfgen's default")}
    monkeypatch.setattr(tf_job, "_POLICY", wrong)
    assert [line for line in unexplained("tfjob-rich") if "spec.runPolicy.ttlSecondsAfterFinished" in line]


@pytest.mark.long
@pytest.mark.parametrize("case", ["tfjob-rich", "jobset-kept", "hand-written-jobs", "volcano-plugin"])
def test_the_key_of_a_carried_field_sets_the_field(case: str) -> None:
    """After a change of the key in job.yaml, the report no longer says that the field is carried to the key."""
    (job,) = imported(case).jobs
    entries = job.comparisons[None].all_entries
    carried = {(entry.source, entry.target) for entry in entries if entry.outcome == "carried" and entry.target}
    assert len(carried) > 2
    for source, key in sorted(carried):
        value = data_path.at(job.data, key) if key else None
        if not key or value is None or isinstance(value, dict | list) or key in (SHM, ("metadata", "name")):
            continue
        data = data_path.with_value(job.data, key, changed(value))
        objects = plain_objects(data), plain_objects(bare_job(data))
        new = VariantComparison(job.variants[None], data, None, *objects).all_entries
        assert (source, key) not in {(e.source, e.target) for e in new if e.outcome == "carried"}, path_name(key)


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return f"1{value}"


def test_a_tensorboard_that_the_job_lacks_is_a_difference() -> None:
    """The reason for the container names the key, so the reason is false without the key."""
    (job,) = imported("tfjob-tensorboard-sidecar").jobs
    assert differences(job, dict(job.data)) == []
    lines = differences(job, data_path.without(job.data, ("spec", "tensorboard")))
    assert [line for line in lines if "Chief.template.spec.containers[0]" in line]
