"""Tests that all problems of a file of nodes are reported together, at their positions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (
            """\
kind: List
items:
- {kind: Node, metadata: {name: a}, status: {}}
- {kind: Node, metadata: {name: b}, status: {allocatable: {cpu: 4cores}}}
- 7
- {kind: Pod, metadata: {name: c}, spec: {containers: [], tolerations: 7}}
- {kind: RuntimeClass, metadata: {name: d}, overhead: {podFixed: {cpu: 2cores}}}
""",
            """\
nodes.yaml:3:3: Node: status: "allocatable" is a required property [cluster-object]
nodes.yaml:4:3: Node b: '4cores' is not a Kubernetes quantity [cluster-object]
nodes.yaml:5:3: this is not a Kubernetes object, because it has no kind [cluster-object]
nodes.yaml:6:3: Pod: spec.tolerations: 7 is not of types "null", "array" [cluster-object]
nodes.yaml:7:3: RuntimeClass d: '2cores' is not a Kubernetes quantity [cluster-object]
""",
        ),
        ("kind: [\n", "nodes.yaml:2:1: the text is not YAML: did not find expected node content [yaml-syntax]\n"),
        (
            "kind: " + "[\n" * 200_000,
            "nodes.yaml:100:1: the text is not YAML: the nesting is deeper than 100 levels [yaml-syntax]\n",
        ),
        ("? [a, b]\n: 1\n", "nodes.yaml:1:3: the text is not YAML: found unhashable key [yaml-syntax]\n"),
    ],
    ids=["shapes", "syntax", "depth", "key"],
)
def test_a_mistake_is_told_at_its_place(
    tmp_path: Path, nodes: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plan(tmp_path, nodes) == cli.PROBLEMS
    assert capsys.readouterr() == ("", expected)


def test_brackets_without_an_end_are_one_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The brackets are in one line, in which libyaml reads ahead. libyaml 0.2.6 and newer stop at 1,000 levels."""
    assert plan(tmp_path, "kind: " + "[" * 200_000) == cli.PROBLEMS
    out, err = capsys.readouterr()
    assert out == ""
    message = r"the text is not YAML: the nesting is deeper than 100 levels \[yaml-syntax]"
    assert re.fullmatch(rf"nodes\.yaml:1:(106|1006): {message}\n", err)


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


def test_a_cluster_option_without_the_cluster_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(tmp_path, "")
    assert cli.run(["plan", "job.yaml", "--nodes", "nodes.yaml", "--context", "far"]) == cli.USAGE
    assert "--kubeconfig, --context and --namespace need --cluster" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["overhead: null", "scheduling: null", "scheduling: {nodeSelector: null}"])
def test_a_runtime_class_may_have_null_for_each_part(
    tmp_path: Path, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = JOB.replace("chief: {}", "chief: {runtimeClassName: boxed}")
    node = "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 9}}}"
    nodes = f"{node}\n---\n{{kind: RuntimeClass, metadata: {{name: boxed}}, {part}}}\n"
    assert plan(tmp_path, nodes, job) == cli.OK
    assert capsys.readouterr().out == "mnist: fits\n\nNODES  TASKS\na      chief\n"
