"""Tests of the file of `tfgen plan --nodes`: mistakes, and what an object may lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import tfgen
from tfgen import cli

JOB = """
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec: {image: "mnist:1", strategy: Single, roles: {chief: {}}}
"""


def plan(folder: Path, nodes: str, job: str = JOB) -> int:
    (folder / "job.yaml").write_text(job, encoding="utf-8")
    (folder / "nodes.yaml").write_text(nodes, encoding="utf-8")
    return cli.run(["plan", "job.yaml", "--nodes", "nodes.yaml"])


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


NODE = "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}"


@pytest.mark.parametrize(
    ("nodes", "code", "message"),
    [
        (NODE.replace("4", "4cores"), 3, "the Node a is not valid: '4cores' is not a Kubernetes quantity"),
        (
            f"{NODE}\n---\n{{kind: Pod, metadata: {{name: c}}, spec: {{nodeName: a, containers: 7}}}}",
            3,
            "the Pod c is not valid: the field spec.containers has a value of a wrong type",
        ),
        (
            f"{NODE}\n---\n{{kind: PersistentVolume, metadata: {{name: v}}, spec: 7}}",
            3,
            "the PersistentVolume v is not valid: the field spec has a value of a wrong type",
        ),
        (
            f"{NODE}\n---\n{{kind: PersistentVolume, metadata: {{name: v}}}}",
            3,
            "the PersistentVolume v is not valid: the field spec is missing",
        ),
        (
            NODE.replace("status", "spec: {taints: [{effect: NoSchedule}]}, status"),
            3,
            "the Node a is not valid: the field spec.taints[0].key is missing",
        ),
        (
            f"{NODE}\n---\n{{kind: Pod, metadata: {{name: c, labels: {{tfgen/job: a}}}}, spec: {{}}, status: 7}}",
            3,
            "the Pod c is not valid: a field has a value of a wrong type",
        ),
        (
            f"{NODE}\n---\n{{kind: ResourceQuota, metadata: {{name: q, namespace: [a]}}}}",
            3,
            "the ResourceQuota q is not valid: a field has a value of a wrong type",
        ),
        (
            f"{NODE}\n---\n{{kind: ResourceQuota, metadata: {{name: q}}, spec: {{hard: {{pods: 2x}}}}}}",
            3,
            "the ResourceQuota q is not valid: '2x' is not a Kubernetes quantity",
        ),
        (
            f"{NODE}\n---\n{{kind: LimitRange, metadata: {{name: l}}, "
            "spec: {limits: [{type: Container, max: {cpu: 1z}}]}}",
            3,
            "the LimitRange l is not valid: '1z' is not a Kubernetes quantity",
        ),
        (
            f"{NODE}\n---\n{{kind: LimitRange, metadata: {{name: l}}, "
            "spec: {limits: [{type: Container, default: [cpu]}]}}",
            3,
            "the LimitRange l is not valid: the field spec.limits[0].default has a value of a wrong type",
        ),
        (
            f"{NODE}\n---\n{{kind: PriorityClass, metadata: {{name: p}}, globalDefault: true}}",
            3,
            "the PriorityClass p is not valid: the field value is missing",
        ),
        ("kind: List\nitems: [7]", 2, "nodes.yaml: item 1 is not a Kubernetes object with a kind and a name"),
        ("kind: [\n", 2, "nodes.yaml:2:1: the text is not YAML: did not find expected node content"),
        ("? [a, b]\n: 1\n", 2, "nodes.yaml:1:3: the text is not YAML: found unhashable key"),
    ],
    ids=[
        *("quantity", "shape", "spec", "volume", "taint", "pod", "namespace", "quota", "limit", "default", "class"),
        *("item", "syntax", "key"),
    ],
)
def test_a_mistake_is_told(
    tmp_path: Path, nodes: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(tmp_path, nodes) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_quota_without_a_spec_limits_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(tmp_path, f"{NODE}\n---\n{{kind: ResourceQuota, metadata: {{name: q}}}}\n") == cli.OK
    assert capsys.readouterr().out == "mnist: fits\n\nNODES  TASKS\na      chief\n"


def test_a_node_without_amounts_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that has just registered has no `status.allocatable` yet."""
    assert plan(tmp_path, f"{{kind: Node, metadata: {{name: new}}, status: {{}}}}\n---\n{NODE}\n") == cli.OK
    out, err = capsys.readouterr()
    assert out == "mnist: fits\n\nNODES  TASKS\na      chief\n"
    assert "the node new has no status.allocatable, so the plan ignores the node" in err


@pytest.mark.parametrize("nodes", ["", "kind: Namespace\nmetadata: {name: ml}\n"])
def test_a_file_without_nodes_is_no_cluster_without_room(
    tmp_path: Path, nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(tmp_path, nodes) == cli.USAGE
    assert "nodes.yaml: the file contains no node; create the file with kubectl get" in capsys.readouterr().err


def test_a_time_is_read_as_it_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = "{kind: Node, metadata: {name: a, creationTimestamp: 2026-01-01T00:00:00Z}, status: {allocatable: {cpu: 9}}}"
    assert plan(tmp_path, node) == cli.PROBLEMS
    assert "chief lacks room for 1 pod" in capsys.readouterr().out


def test_a_cluster_option_without_the_cluster_is_refused(tmp_path: Path) -> None:
    plan(tmp_path, "")
    printed = tfgen("plan", "job.yaml", "--nodes", "nodes.yaml", "--context", "far", code=cli.USAGE).err
    assert "--kubeconfig, --context and --namespace need --cluster" in printed


@pytest.mark.parametrize("part", ["overhead: null", "scheduling: null", "scheduling: {nodeSelector: null}"])
def test_a_runtime_class_may_have_null_for_each_part(
    tmp_path: Path, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = JOB.replace("chief: {}", "chief: {runtimeClassName: boxed}")
    node = "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}"
    nodes = f"{node}\n---\n{{kind: RuntimeClass, metadata: {{name: boxed}}, {part}}}\n"
    assert plan(tmp_path, nodes, job) == cli.OK
    assert capsys.readouterr().out == "mnist: fits\n\nNODES  TASKS\na      chief\n"
