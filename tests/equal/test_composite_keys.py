"""Lists whose items Kubernetes identifies by several fields, such as the number and the protocol of a port.

kustomize merges such a list by other rules than a list with one key field, and loses fields of an item that lacks one
of the key fields. https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest

from tests.support import normal, tools
from tests.support.rendered import Rendered
from tfgen.check.jobs import check
from tfgen.kubernetes.merge import kustomize, kustomize_keys, merge
from tfgen.schema import kubernetes_fields
from tfgen.targets.kustomize.patch import object_patch
from tfgen.text.yaml_text import documents

pytestmark = pytest.mark.long

COMPOSITE = {
    ("Container", "ports"): ["containerPort", "protocol"],
    ("PodSpec", "topologySpreadConstraints"): ["topologyKey", "whenUnsatisfiable"],
    ("ServiceSpec", "ports"): ["port", "protocol"],
}
"""The lists with several key fields in the schema of Kubernetes, except for the lists that a server writes."""

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {ports: [{name: metrics, containerPort: 9000}]}}
  workload: {kind: KIND}
  storage: {model: {mountPath: /model, claim: {name: model}}}
  tensorboard: {logDir: /model}
  environments: {dev: {patches: {a: PATCH}}}
"""
BOARD = "{target: {kind: Service, name: tensorboard-service}, "
CHANGES: Mapping[str, tuple[str, Sequence[Any]]] = {
    "a field of a port": (
        "merge: {spec: {type: NodePort, ports: [{port: 6006, protocol: TCP, nodePort: 30000}]}}}",
        [{"name": "http", "port": 6006, "protocol": "TCP", "targetPort": "http", "nodePort": 30000}],
    ),
    "a field of a port that is named by its number": (
        "merge: {spec: {type: NodePort, ports: [{port: 6006, nodePort: 30000}]}}}",
        [{"name": "http", "port": 6006, "protocol": "TCP", "targetPort": "http", "nodePort": 30000}],
    ),
    "one more port": (
        "json: [{op: add, path: /spec/ports/-, value: {name: x, port: 81, protocol: TCP}}]}",
        [
            {"name": "http", "port": 6006, "protocol": "TCP", "targetPort": "http"},
            {"name": "x", "port": 81, "protocol": "TCP"},
        ],
    ),
    "another port": (
        "merge: {spec: {ports: [{$patch: delete, port: 6006, protocol: TCP}, {name: x, port: 81}]}}}",
        [{"name": "x", "port": 81}],
    ),
}


def test_the_table_has_every_list_with_several_keys() -> None:
    found = {
        (owner, field): [*keys]
        for owner, of_type in kubernetes_fields.types().items()
        for field, keys in of_type.keys.items()
        if len(keys) > 1 and owner != "EphemeralContainer"
    }
    assert found == COMPOSITE
    assert {key: [*kustomize_keys(kind_of(key[0]))[key[1]]] for key in found} == COMPOSITE


@pytest.mark.parametrize(("owner", "field"), COMPOSITE)
def test_a_patch_changes_a_list_with_several_keys(owner: str, field: str, tmp_path: Path) -> None:
    pairs = {f"a{number}": pair for number, pair in enumerate(permutations(lists(owner, field), 2))}
    before, after = ({name: item(owner, field, name, pair[side]) for name, pair in pairs.items()} for side in (0, 1))
    patches = {name: object_patch(before[name], after[name]) for name in pairs}
    assert by_kustomize(before, patches, tmp_path) == after
    assert {name: merge(before[name], patches[name], kustomize(kind_of(owner))) for name in pairs} == after


@pytest.mark.parametrize("owner", ["Container", "ServiceSpec"])
def test_a_patch_of_an_older_version_is_read_as_kustomize_reads_it(owner: str, tmp_path: Path) -> None:
    """In these patches, a port has only the first key field, and no port has a protocol."""
    number = COMPOSITE[owner, "ports"][0]
    lists_of_ports = [[{number: port, "name": f"p{port}"} for port in ports] for ports in ([1], [1, 2], [1, 2, 3])]
    changes = [[{number: 2, "name": "x"}], [{number: 1}, {number: 2, "name": "x"}], [{number: 1, "$patch": "delete"}]]
    pairs = {f"a{n}": pair for n, pair in enumerate(product(lists_of_ports, changes))}
    before, patches = (
        {name: item(owner, "ports", name, pair[side]) for name, pair in pairs.items()} for side in (0, 1)
    )
    read = {name: merge(before[name], patches[name], kustomize(kind_of(owner))) for name in pairs}
    assert without_empty_lists(read) == without_empty_lists(by_kustomize(before, patches, tmp_path))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_environment_changes_the_ports_of_a_service(change: tuple[str, Sequence[Any]], tmp_path: Path) -> None:
    patch, expected = change
    rendered = Rendered.write(document("StatefulSet", BOARD + patch), tmp_path)
    rendered.assert_equal("dev")
    service = rendered.by_kustomize("dev")["v1", "Service", "mnist-tensorboard"]
    assert service["spec"]["ports"] == expected


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "JobSet", "TFJob", "VolcanoJob"])
def test_the_base_states_every_key_field(kind: str, tmp_path: Path) -> None:
    """Without a protocol in the base, a patch of a user's own overlay loses fields."""
    rendered = Rendered.write(document(kind, BOARD + "merge: {spec: {type: NodePort}}}"), tmp_path)
    ports = [port for base in rendered.by_kustomize(None).values() for port in ports_of(base)]
    assert {port.get("containerPort", port.get("port")) for port in ports} >= {2222, 6006, 9000}
    assert {port.get("protocol") for port in ports} == {"TCP"}


def document(kind: str, patch: str) -> dict[str, Any]:
    result = check(JOB.replace("KIND", kind).replace("PATCH", patch), "job.yaml")
    assert [problem.message for problem in result.problems if problem.severity == "error"] == []
    return dict(result.documents[0].data)


def ports_of(node: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the ports of containers and Services in a part of an object. The ports of a policy have no `name`."""
    if isinstance(node, dict):
        yield from (port for port in node.get("ports", ()) if "name" in port)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from ports_of(child)


def lists(owner: str, field: str) -> list[list[dict[str, Any]]]:
    """Return lists in several orders. Some items have the same first key, and some lack the second key field."""
    first, second = COMPOSITE[owner, field]
    one, other = ("DoNotSchedule", "ScheduleAnyway") if field.startswith("topology") else ("TCP", "UDP")
    a, b, c = ("host", "rack", "zone") if field.startswith("topology") else (53, 80, 81)
    more = "maxSkew" if field.startswith("topology") else "hostPort" if owner == "Container" else "nodePort"
    whole = [{first: key, second: value, more: 1} for key, value in ((a, one), (a, other), (b, one), (c, one))]
    found = [[whole[index] for index in order] for order in ((0,), (0, 1), (1, 0), (0, 2), (2, 3, 0), (3, 1, 2, 0))]
    found += [[{**whole[0], more: 2}, whole[2]], [whole[2], {**whole[1], more: 2}]]
    if second == "protocol":  # the protocol has a default
        found += [[{first: key} for key in keys] for keys in ((a,), (a, b), (b, a))]
        found += [[{first: a, more: 2}, whole[2]], [whole[2], {first: a}]]
    return found


def kind_of(owner: str) -> str:
    return "Service" if owner == "ServiceSpec" else "Pod"


def item(owner: str, field: str, name: str, items: Sequence[Any]) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", field: items}]} if owner == "Container" else {field: items}
    return {"apiVersion": "v1", "kind": kind_of(owner), "metadata": {"name": name}, "spec": spec}


def by_kustomize(before: Mapping[str, Any], patches: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "kustomization.yaml").write_text("resources: [items.yaml]\npatches: [{path: patch.yaml}]\n")
    (folder / "items.yaml").write_text(documents(before.values()))
    (folder / "patch.yaml").write_text(documents(patches.values()))
    items = normal.read(tools.kustomize_build(folder)).values()
    return {item["metadata"]["name"]: item for item in items}


def without_empty_lists(node: Any) -> Any:
    """Return data without empty lists, which kustomize removes if a patch deletes the last item."""
    if isinstance(node, dict):
        return {key: without_empty_lists(child) for key, child in node.items() if child not in ([], None)}
    return [*map(without_empty_lists, node)] if isinstance(node, list) else node
