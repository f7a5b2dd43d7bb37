"""Values and names that Helm refuses for the chart, with a message that says what to do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.command import CommandError
from tests.equal.normal import Objects
from tests.equal.rendered import Rendered
from tests.equal.test_values import JOB
from tests.helm import HelmLibrary

ENVIRONMENT_STRING_MAX = 131_071
"""Bytes of NAME=VALUE: 32 pages of 4,096, less the zero at the end (execve(2), MAX_ARG_STRLEN)."""


@dataclass(frozen=True)
class Case:
    """Arguments for Helm, and what it must say: each of these parts."""

    name: str
    args: tuple[str, ...]
    says: tuple[str, ...]
    release: str = "mnist"


CASES = [
    Case("null", ("--set", "image=null"), ("at ''", "missing property 'image'")),
    Case("null in a role", ("--set", "roles.ps.replicas=null"), ("'/roles/ps'", "missing property 'replicas'")),
    Case("a role gone", ("--set", "roles.worker=null"), ("'/roles'", "missing property 'worker'")),
    Case(
        "null in a map", ("--set", "storage.data.mountPath=null"), ("'/storage/data'", "missing property 'mountPath'")
    ),
    Case(
        "text for a number",
        ("--set-string", "roles.ps.replicas=4"),
        ("'/roles/ps/replicas'", "got string, want integer"),
    ),
    Case("a fraction", ("--set-json", "roles.ps.replicas=1.5"), ("'/roles/ps/replicas'", "got number, want integer")),
    Case("text for a list", ("--set", "command=train"), ("'/command'", "got string, want array")),
    Case("a number for text", ("--set", "run=2"), ("'/run'", "got number, want string")),
    Case("a number in env", ("--set", "env.A=1"), ("'/env/A'", "got number, want string or object")),
    Case("too few", ("--set", "roles.ps.replicas=0"), ("'/roles/ps/replicas'", "got 0, want 1")),
    Case("unknown key", ("--set", "imagee=a"), ("additional properties 'imagee' not allowed",)),
    Case("unknown key in a role", ("--set", "roles.chief.replicas=2"), ("'/roles/chief'", "'replicas' not allowed")),
    Case("not tunable", ("--set", "gang.scheduler=kube-batch"), ("'/gang'", "'scheduler' not allowed")),
    Case("no choice", ("--set-string", "network.policy=off"), ("'/network/policy'", "one of 'Isolated', 'Off'")),
    Case("TF_CONFIG by env", ("--set", "env.TF_CONFIG=x"), ("invalid propertyName 'TF_CONFIG'",)),
    Case("a label of ours", ("--set-string", r"labels.tfgen/job=x"), ("invalid propertyName 'tfgen/job'",)),
    Case("capitals in run", ("--set", "run=Big"), ("'/run'", "'Big' does not match pattern")),
    Case("a scheme in the image", ("--set", "image=https://r.example.com/m"), ("'/image'", "does not match pattern")),
    Case("a toleration", ("--set", "tolerations[0].operator=Equal"), ("'/tolerations/0'", "'not' failed")),
    Case(
        "a resource of nobody",
        ("--set", "roles.ps.resources.limits.foo=1"),
        ("invalid propertyName 'foo'",),
    ),
    Case("no range", ("--set", "network.egress.rules[0].to[0].ipBlock.cidr=999.0.0.0/8"), ("cidr'", "does not match")),
    Case("two sources", ("--set-json", "storage.data.emptyDir={}"), ("'/storage/data'", "'oneOf' failed")),
    Case("no image", ("--set", "image="), ("role chief has no image", "set image for the job, or roles.chief.image")),
    Case(
        "minAvailable above the sum",
        ("--set", "gang.minAvailable=8"),
        ("gang.minAvailable is 8, more than the 7 tasks of the gang", "0 means all of them"),
    ),
    Case(
        "root",
        ("--set", "security.runAsUser=0"),
        ("security.runAsUser is 0, which Pod Security restricted refuses", "another user"),
    ),
    Case("a dot in the release", (), ("mnist.x, which is no DNS label", "choose another release name"), "mnist.x"),
    Case("a digit first", (), ("1-mnist, which is no DNS label", "choose another release name"), "1"),
]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("refusals"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_helm_refuses(case, rendered):
    refusal = _refusal(rendered, *case.args, release=case.release)
    assert [part for part in case.says if part not in refusal] == [], refusal


def test_helm_refuses_a_minimum_above_the_sum_of_a_gang_only_where_there_is_one(rendered):
    assert rendered.by_helm("--set", "gang.minAvailable=7")
    assert rendered.by_helm("--set", "gang.minAvailable=8,gang.enabled=false")


def test_helm_refuses_a_stateful_set_whose_name_is_too_long(rendered):
    """52 characters make pods, 53 do not: the label controller-revision-hash has 63 (NAME-HASH, a hash of 10)."""
    longest = "x" * (52 - len("-mnist-worker"))
    objects = rendered.by_helm(release=longest)
    assert max(len(name) for _, kind, name in objects if kind == "StatefulSet") == 52
    refusal = _refusal(rendered, release=longest + "x")
    assert f"StatefulSet's name {longest}x-mnist-worker has 53 characters, more than the 52" in refusal
    assert "shorten the job's, the release's or the run's name" in refusal
    refusal = _refusal(rendered, "--set", "run=x", release=longest)
    assert f"{longest}-mnist-x-worker has 54 characters" in refusal


def test_helm_refuses_a_tf_config_that_is_too_long(rendered):
    """The largest number of workers that Helm takes fits, and with one more there is no room for what is counted.

    Counted is what Kubernetes makes; tfgen counts five digits for the index of a task, which may have one.
    """
    taken, refused = 1, 10_000
    while refused - taken > 1:
        middle = (taken + refused) // 2
        try:
            _with_workers(rendered, middle)
            taken = middle
        except CommandError:
            refused = middle
    largest = _longest_tf_config(_with_workers(rendered, taken))
    one_more = largest + len(f',"mnist-worker-{taken}.mnist:2222"')
    assert largest <= ENVIRONMENT_STRING_MAX
    assert one_more + 4 > ENVIRONMENT_STRING_MAX
    refusal = _refusal(rendered, "--set", f"roles.worker.replicas={refused}")
    told = re.search(
        r"TF_CONFIG would have (\d+) bytes, more than the 131071 .*: fewer tasks, or shorter names", refusal
    )
    assert told, refusal
    assert one_more <= int(told[1]) <= one_more + 4


def _with_workers(rendered: Rendered, count: int) -> Objects:
    return rendered.by_helm("--set", f"roles.worker.replicas={count}", helm=HelmLibrary())


def _longest_tf_config(objects: Objects) -> int:
    """Bytes of the longest TF_CONFIG, expanded as Kubernetes does for the last pod of each role."""
    (clusters,) = (item["data"] for key, item in objects.items() if key[1] == "ConfigMap" and "cluster" in item["data"])
    sizes = []
    for item in objects.values():
        for container in item.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            env: dict[str, Any] = {variable["name"]: variable for variable in container.get("env", [])}
            if "TF_CONFIG" not in env:
                continue
            cluster = clusters[env["TF_CLUSTER"]["valueFrom"]["configMapKeyRef"]["key"]]
            last = (item["spec"].get("replicas") or item["spec"]["completions"]) - 1
            text = env["TF_CONFIG"]["value"].replace("$(TF_CLUSTER)", cluster).replace("$(TASK_INDEX)", str(last))
            assert json.loads(text)["task"]["index"] == last
            sizes.append(len(f"TF_CONFIG={text}".encode()))
    return max(sizes)


def _refusal(rendered: Rendered, *args: str, release: str | None = None) -> str:
    """What Helm says to the user, who is refused."""
    with pytest.raises(CommandError) as caught:
        rendered.by_helm(*args, release=release)
    return caught.value.stderr
