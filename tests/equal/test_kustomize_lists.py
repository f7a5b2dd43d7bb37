"""Lists that kustomize merges by one key or by several keys, such as the number and the protocol of a port.

kustomize changes the order of items, drops some items, and loses fields of an item that lacks one of the key fields:
https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
"""

from __future__ import annotations

from itertools import permutations, product

import pytest
import yaml

from tests.support import normal, tools
from tests.support.generated import accepted, job
from tests.support.rendered import Rendered, assert_outputs_equal
from tfgen.kubernetes.merge import kustomize, kustomize_keys, merge
from tfgen.schema import kubernetes_fields
from tfgen.targets.kustomize.overlays import build_objects
from tfgen.targets.kustomize.patch import object_patch
from tfgen.text.yaml_text import documents, dump

pytestmark = pytest.mark.long


def of_kind(kind, name="pod", **spec):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def by_kustomize(before, patches, folder):
    """Return the objects by name after patches, in one run of kustomize."""
    (folder / "kustomization.yaml").write_text("resources: [items.yaml]\npatches: [{path: patch.yaml}]\n")
    (folder / "items.yaml").write_text(documents(before.values()))
    (folder / "patch.yaml").write_text(documents(patches.values()))
    items = normal.read(tools.kustomize_build(folder)).values()
    return {item["metadata"]["name"]: item for item in items}


def assert_patches_make(pairs, folder):
    """Check that kustomize and tfgen turn the first object of each pair into the second object."""
    before, after = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    patches = {name: object_patch(before[name], after[name]) for name in pairs}
    assert by_kustomize(before, patches, folder) == after
    assert {name: merge(item, patches[name], kustomize(item["kind"])) for name, item in before.items()} == after


# -- lists with one key -----------------------------------------------------------------------------------------------

ORDERS = ("A", "B", "AB", "BA", "ABC", "CAB", "ACB", "xABC", "AxBC", "ABCx", "BxA", "xCy", "aBC", "AbC", "bA", "Cx")


def test_patch_changes_a_list_with_one_key(tmp_path):
    """Each letter is a variable. The case of the letter is part of the value, and an x has no value."""

    def with_variables(name, word):
        env = [{"name": letter.upper()} | ({} if letter == "x" else {"value": letter}) for letter in word]
        return of_kind("Pod", name, containers=[{"name": "a", "env": env}])

    words = {f"pod-{number}": pair for number, pair in enumerate(permutations(ORDERS, 2))}
    assert_patches_make({name: [with_variables(name, word) for word in pair] for name, pair in words.items()}, tmp_path)


PLACES = {"ObjectMeta": ("podTemplate", "metadata"), "PodSpec": ("podTemplate", "spec"), "Container": ("sidecars",)}
KEYS_OF_THE_JOB = ("imagePullSecrets", "topologySpreadConstraints")
"""Lists that a podTemplate may not have, because the job has a key for the list."""
LISTS = [(owner, field) for owner in PLACES for field in kubernetes_fields.types()[owner].keys]


def with_list(owner, field, items):
    """Return a job whose pods have a list with these items, and differ in an environment."""
    outer, *inner = PLACES[owner]
    value = {inner[0]: {field: items}} if inner else [{"name": "log", "image": "log:1", field: items}]
    storage = {name: {"mountPath": f"/{name}", "emptyDir": {}} for name in ("" if inner else "ab")}
    return job(**{outer: value, "storage": storage}, environments={"dev": {"env": {"A": "1"}}})


def least(kind, keys, name):
    """Return the smallest valid value of a type, with a name."""
    if kind not in kubernetes_fields.types():
        return {"integer": ord(name), "boolean": True}.get(kind, name)
    found = kubernetes_fields.types()[kind]
    return {field: least(found.fields[field], (), name) for field in sorted({*found.required, *keys})}


@pytest.mark.parametrize(("owner", "field"), LISTS)
def test_list_with_keys_keeps_its_order_and_its_items(owner, field, tmp_path):
    """tfgen refuses items that kustomize would merge or drop."""
    found = kubernetes_fields.types()[owner]
    a, b = (least(found.fields[field][1:-1], found.keys[field], name) for name in "ab")
    if field not in KEYS_OF_THE_JOB:
        assert_outputs_equal(with_list(owner, field, [b, a]), tmp_path)
    for items in ([a, a], [{}], *([[b, a]] if field in KEYS_OF_THE_JOB else [])):
        assert not accepted(with_list(owner, field, items))


# -- lists with several keys ------------------------------------------------------------------------------------------

COMPOSITE = {
    ("Container", "ports"): ["containerPort", "protocol"],
    ("PodSpec", "topologySpreadConstraints"): ["topologyKey", "whenUnsatisfiable"],
    ("ServiceSpec", "ports"): ["port", "protocol"],
}
"""The lists with several key fields in the schema of Kubernetes, except for the lists that a server writes."""


def owner_with(owner, field, name, items):
    if owner == "ServiceSpec":
        return of_kind("Service", name, **{field: items})
    return of_kind(
        "Pod", name, **({"containers": [{"name": "a", field: items}]} if owner == "Container" else {field: items})
    )


def test_the_table_has_every_list_with_several_keys():
    found = {
        (owner, field): [*keys]
        for owner, of_type in kubernetes_fields.types().items()
        for field, keys in of_type.keys.items()
        if len(keys) > 1 and owner != "EphemeralContainer"
    }
    assert found == COMPOSITE
    by_kind = {key: kustomize_keys("Service" if key[0] == "ServiceSpec" else "Pod") for key in found}
    assert {key: [*keys[key[1]]] for key, keys in by_kind.items()} == COMPOSITE


@pytest.mark.parametrize(("owner", "field"), COMPOSITE)
def test_patch_changes_a_list_with_several_keys(owner, field, tmp_path):
    """The lists have several orders. Some items have the same first key, and some lack the second key field."""
    first, second = COMPOSITE[owner, field]
    one, other = ("DoNotSchedule", "ScheduleAnyway") if field.startswith("topology") else ("TCP", "UDP")
    a, b, c = ("host", "rack", "zone") if field.startswith("topology") else (53, 80, 81)
    more = "maxSkew" if field.startswith("topology") else "hostPort" if owner == "Container" else "nodePort"
    whole = [{first: key, second: value, more: 1} for key, value in ((a, one), (a, other), (b, one), (c, one))]
    lists = [[whole[index] for index in order] for order in ((0,), (0, 1), (1, 0), (0, 2), (2, 3, 0), (3, 1, 2, 0))]
    lists += [[{**whole[0], more: 2}, whole[2]], [whole[2], {**whole[1], more: 2}]]
    if second == "protocol":  # the protocol has a default
        lists += [[{first: key} for key in keys] for keys in ((a,), (a, b), (b, a))]
        lists += [[{first: a, more: 2}, whole[2]], [whole[2], {first: a}]]
    pairs = {f"a{number}": pair for number, pair in enumerate(permutations(lists, 2))}
    made = {name: [owner_with(owner, field, name, items) for items in pair] for name, pair in pairs.items()}
    assert_patches_make(made, tmp_path)


def spread(topology):
    """Return a constraint for a topology. `a` and `A` have the same topology and differ in `whenUnsatisfiable`."""
    unsatisfiable = "ScheduleAnyway" if topology.isupper() else "DoNotSchedule"
    return {"maxSkew": 1, "topologyKey": topology.lower(), "whenUnsatisfiable": unsatisfiable}


@pytest.mark.parametrize(
    ("of_job", "of_environment"),
    [("a", "ba"), ("a", "ab"), ("ab", "ba"), ("ab", "acb"), ("ab", "cab"), ("a", "aA"), ("aA", "Aa"), ("abc", "b")],
)
def test_spread_of_an_environment_has_its_own_order(of_job, of_environment, tmp_path):
    own, dev = ({"topologySpreadConstraints": [*map(spread, word)]} for word in (of_job, of_environment))
    by_kustomize = assert_outputs_equal(job(**own, environments={"dev": dev}), tmp_path).by_kustomize("dev")
    pod = by_kustomize["batch/v1", "Job", "mnist-chief"]["spec"]["template"]["spec"]
    selector = {"matchLabels": {"tfgen/job": "mnist", "tfgen/run": "", "tfgen/role": "chief"}}
    expected = [{**spread(topology), "labelSelector": selector} for topology in of_environment]
    assert pod["topologySpreadConstraints"] == expected


PORT = {"name": "http", "port": 6006, "protocol": "TCP", "targetPort": "http"}
# A patch of the Service of TensorBoard, and its ports after the patch.
PORTS = {
    "a field of a port": (
        "merge: {spec: {type: NodePort, ports: [{port: 6006, protocol: TCP, nodePort: 30000}]}}",
        [{**PORT, "nodePort": 30000}],
    ),
    "a field of a port that is named by its number": (
        "merge: {spec: {type: NodePort, ports: [{port: 6006, nodePort: 30000}]}}",
        [{**PORT, "nodePort": 30000}],
    ),
    "one more port": (
        "json: [{op: add, path: /spec/ports/-, value: {name: x, port: 81, protocol: TCP}}]",
        [PORT, {"name": "x", "port": 81, "protocol": "TCP"}],
    ),
    "another port": (
        "merge: {spec: {ports: [{$patch: delete, port: 6006, protocol: TCP}, {name: x, port: 81}]}}",
        [{"name": "x", "port": 81}],
    ),
}


def with_board(patch, kind="StatefulSet"):
    target = {"target": {"kind": "Service", "name": "tensorboard-service"}}
    return job(
        roles={"chief": {}, "ps": {}, "worker": {"ports": [{"name": "metrics", "containerPort": 9000}]}},
        workload={"kind": kind},
        storage={"model": {"mountPath": "/model", "claim": {"name": "model"}}},
        tensorboard={"logDir": "/model"},
        environments={"dev": {"patches": {"a": {**target, **yaml.safe_load(f"{{{patch}}}")}}}},
    )


@pytest.mark.parametrize(("patch", "expected"), PORTS.values(), ids=PORTS)
def test_environment_changes_the_ports_of_a_service(patch, expected, tmp_path):
    rendered = assert_outputs_equal(with_board(patch), tmp_path)
    assert rendered.by_kustomize("dev")["v1", "Service", "mnist-tensorboard"]["spec"]["ports"] == expected


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "JobSet", "TFJob", "VolcanoJob"])
def test_base_states_every_key_field(kind, tmp_path):
    """Without a protocol in the base, a patch of a user's own overlay loses fields."""
    rendered = Rendered.write(with_board("merge: {spec: {type: NodePort}}", kind), tmp_path)
    ports = [port for base in rendered.by_kustomize(None).values() for port in ports_of(base)]
    assert {port.get("containerPort", port.get("port")) for port in ports} >= {2222, 6006, 9000}
    assert {port.get("protocol") for port in ports} == {"TCP"}


def ports_of(node):
    """Yield the ports of containers and Services in a part of an object. The ports of a policy have no `name`."""
    if isinstance(node, dict):
        yield from (port for port in node.get("ports", ()) if "name" in port)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from ports_of(child)


# -- patches that an older tfgen wrote, and that remain committed ------------------------------------------------------


def test_older_patch_of_a_spread_is_read_as_kustomize_reads_it(tmp_path):
    """The patch does not replace the list."""
    a, c, b = {**spread("a"), "maxSkew": 2}, spread("c"), {"$patch": "delete", **spread("b")}
    files = {
        "base/kustomization.yaml": {"resources": ["pod.yaml"]},
        "base/pod.yaml": of_kind("Pod", topologySpreadConstraints=[spread("b"), spread("d"), spread("a")]),
        "dev/kustomization.yaml": {"resources": ["../base"], "patches": [{"path": "pod.patch.yaml"}]},
        "dev/pod.patch.yaml": of_kind("Pod", topologySpreadConstraints=[a, c, b]),
    }
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(dump(data), encoding="utf-8")
    by_kustomize = normal.read(tools.kustomize_build(tmp_path / "dev"))
    assert list(by_kustomize.values()) == [of_kind("Pod", topologySpreadConstraints=[c, spread("d"), a])]
    assert normal.by_identity(build_objects({path: dump(data) for path, data in files.items()}, "dev")) == by_kustomize


@pytest.mark.parametrize("owner", ["Container", "ServiceSpec"])
def test_older_patch_of_ports_is_read_as_kustomize_reads_it(owner, tmp_path):
    """In these patches, a port has only the first key field, and no port has a protocol."""
    key = COMPOSITE[owner, "ports"][0]
    lists_of_ports = [[{key: port, "name": f"p{port}"} for port in ports] for ports in ([1], [1, 2], [1, 2, 3])]
    changes = [[{key: 2, "name": "x"}], [{key: 1}, {key: 2, "name": "x"}], [{key: 1, "$patch": "delete"}]]
    pairs = {f"a{number}": pair for number, pair in enumerate(product(lists_of_ports, changes))}
    before, patches = (
        {name: owner_with(owner, "ports", name, pair[side]) for name, pair in pairs.items()} for side in (0, 1)
    )
    read = {name: merge(item, patches[name], kustomize(item["kind"])) for name, item in before.items()}
    assert without_empty_lists(read) == without_empty_lists(by_kustomize(before, patches, tmp_path))


def without_empty_lists(node):
    """Return data without empty lists, which kustomize removes if a patch deletes the last item."""
    if isinstance(node, dict):
        return {key: without_empty_lists(child) for key, child in node.items() if child not in ([], None)}
    return [*map(without_empty_lists, node)] if isinstance(node, list) else node
