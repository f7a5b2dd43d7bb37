"""Values and names that Helm refuses for the chart, with a message that explains the fix."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.chart_job import JOB
from tests.support.command import CommandError
from tests.support.generated import accepted, saying
from tests.support.normal import Objects
from tests.support.rendered import Rendered
from tfgen.check.jobs import check
from tfgen.graph import programs
from tfgen.text.yaml_text import dump

pytestmark = pytest.mark.long

ENVIRONMENT_STRING_MAX = 131_071
"""Maximum bytes of NAME=VALUE: 32 pages of 4,096, minus the final zero (execve(2), MAX_ARG_STRLEN)."""


@dataclass(frozen=True)
class Case:
    """Arguments for Helm, and the texts that Helm's message must contain."""

    name: str
    args: tuple[str, ...]
    says: tuple[str, ...]
    release: str = "mnist"


CASES = [
    Case("null", ("--set", "image=null"), ("at ''", "missing property 'image'")),
    Case("an amount below 0", ("--set-json", "shm=-0.5"), ("'/shm'", "-0.5")),
    Case("an amount past what Go writes without an exponent", ("--set-json", "shm=1e6"), ("'/shm'", "want 999,999")),
    Case(
        "a role that the job lacks",
        ("--set-json", 'storage.data.for=["ps", "tensorboard"]'),
        ("'/storage/data/for/1'", "one of 'chief', 'ps', 'worker', 'evaluator'"),
    ),
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
    Case("a fraction for text", ("--set-json", "run=2.5"), ("'/run'", "got number, want integer or string")),
    Case(
        "a list in env", ("--set", "env.A={1}"), ("'/env/A'", "got array, want boolean or integer or string or object")
    ),
    Case("no list", ("--set", "tolerations=null"), ("at ''", "missing property 'tolerations'")),
    Case("too few", ("--set", "roles.ps.replicas=0"), ("'/roles/ps/replicas'", "got 0, want 1")),
    Case("unknown key", ("--set", "imagee=a"), ("additional properties 'imagee' not allowed",)),
    Case("unknown key in a role", ("--set", "roles.chief.replicas=2"), ("'/roles/chief/replicas'", "false schema")),
    Case("not tunable", ("--set", "gang.scheduler=kube-batch"), ("'/gang'", "'scheduler' not allowed")),
    Case("no choice", ("--set-string", "network.policy=off"), ("'/network/policy'", "one of 'Isolated', 'Off'")),
    Case("TF_CONFIG by env", ("--set", "env.TF_CONFIG=x"), ("invalid propertyName 'TF_CONFIG'",)),
    Case("a label of ours", ("--set-string", r"labels.tfgen/job=x"), ("invalid propertyName 'tfgen/job'",)),
    Case("what Helm deletes", ("--set-json", 'args=["<no value>"]'), ("'/args/0'", "'not' failed")),
    Case("what Helm deletes, in env", ("--set", "env.A=a <no value>"), ("'/env/A'", "'not' failed")),
    Case("what Helm deletes, in a path", ("--set", "workingDir=/<no value>"), ("'/workingDir'", "'not' failed")),
    Case(
        "what Helm deletes, in a key",
        ("--set-json", 'affinity={"podAffinity": {"<no value>": []}}'),
        ("invalid propertyName '<no value>'", "'not' failed"),
    ),
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
        ("gang.minAvailable is 8, but the gang has only 7 tasks", "0 for all tasks"),
    ),
    Case(
        "root",
        ("--set", "security.runAsUser=0"),
        ("security.runAsUser is 0, which the Pod Security Standard restricted forbids", "set another user"),
    ),
    Case("a dot in the release", (), ("mnist.x, which is not a DNS label", "choose another release name"), "mnist.x"),
    Case("a digit first", (), ("1-mnist, which is not a DNS label", "choose another release name"), "1"),
]


@dataclass(frozen=True)
class Contradiction:
    """Values that Helm and tfgen refuse, Helm with this message, and similar values that both accept."""

    name: str
    values: Mapping[str, Any]
    says: str
    neighbour: Mapping[str, Any]


def _volume(path: str, **more: Any) -> Mapping[str, Any]:
    return {"mountPath": path, "emptyDir": {}, **more}


def _of_worker(**resources: Any) -> Mapping[str, Any]:
    return {"roles": {"worker": {"resources": resources}}}


LEGACY = "alpha.kubernetes.io/nvidia-gpu"

CONTRADICTIONS = [
    Contradiction(
        "memory for GPUs",
        {"roles": {"chief": {"resources": {"limits": {"nvidia.com/gpu": "1Gi"}}}}},
        "role chief requests 1Gi of nvidia.com/gpu, which is not a GPU count up to 1024; write the number in digits",
        _of_worker(limits={"nvidia.com/gpu": "1", "example.com/gpucores": "1Gi"}),
    ),
    Contradiction(
        "more GPUs than a node has",
        _of_worker(limits={"nvidia.com/mig-1g.5gb": 1025}),
        "role worker requests 1025 of nvidia.com/mig-1g.5gb, which is not a GPU count up to 1024",
        _of_worker(limits={"nvidia.com/mig-1g.5gb": 1024}),
    ),
    Contradiction(
        "no folder to go on in",
        {"run": "2", "resumeFrom": "1"},
        "resumeFrom names the folder of a run, but no volume has a folder for each run; set runs: Separate in storage",
        {"run": "2", "resumeFrom": "1", "storage": {"data": {"runs": "Separate"}}},
    ),
    Contradiction(
        "the folder of the run without a name",
        {"run": "1", "storage": {"data": {"runs": "Separate"}}},
        "run 1 would use the folder of the run without a name; choose another name, and set resumeFrom to 1",
        {"run": "1", "storage": {"data": {"runs": "Shared"}}},
    ),
    Contradiction(
        "two folders of one volume",
        {"storage": {"data": {"subPath": "a", "subPathExpr": "$(TASK_INDEX)"}}},
        "storage.data has both subPath and subPathExpr; remove one of the two",
        {"storage": {"data": {"subPathExpr": "$(TASK_INDEX)"}}},
    ),
    Contradiction(
        "the temporary folder",
        {"storage": {"x": _volume("//tmp/./")}},
        "storage.x is mounted at /tmp, and so is the temporary folder of every pod; choose another mountPath",
        {"storage": {"x": _volume("/tmp/x")}},
    ),
    Contradiction(
        "the shared memory",
        {"storage": {"x": _volume("/dev/shm")}, "roles": {"worker": {"shm": "1Gi"}}},
        "storage.x is mounted at /dev/shm, and so is shm; choose another mountPath",
        {"storage": {"x": _volume("/dev/shm", **{"for": ["ps"]})}, "roles": {"worker": {"shm": "1Gi"}}},
    ),
    Contradiction(
        "two volumes in one place",
        {"storage": {"x": _volume("/x", **{"for": ["ps", "worker"]}), "y": _volume("/x/", **{"for": ["worker"]})}},
        "is mounted at /x, and so is storage.",
        {"storage": {"x": _volume("/x", **{"for": ["ps"]}), "y": _volume("/x/", **{"for": ["worker"]})}},
    ),
    Contradiction(
        "a limit that no policy keeps",
        {"network": {"policy": "Off", "egress": {"limited": True}}},
        "network.policy is Off, so no policy limits egress; set network.policy to Isolated, or network.egress.limited",
        {"network": {"policy": "Isolated", "egress": {"limited": True}}},
    ),
    Contradiction(
        "more GPUs than are counted",
        _of_worker(limits={"nvidia.com/gpu": 3}),
        "role worker has gpu.count 1 and the limit 3 of nvidia.com/gpu, which overrides gpu.count; "
        "set the number only in gpu.count",
        _of_worker(limits={"nvidia.com/gpu": 1}),
    ),
    Contradiction(
        "no GPU in the end",
        _of_worker(limits={"nvidia.com/gpu": "0"}),
        "role worker has gpu.count 1 and the limit 0 of nvidia.com/gpu, which overrides gpu.count; "
        "set the number only in gpu.count",
        _of_worker(limits={"nvidia.com/gpu": 3}, gpu={"count": 0}),
    ),
    *(
        Contradiction(
            f"the first name of a GPU in {where}",
            _of_worker(**said),
            f"role worker requests {LEGACY}, which no node has since Kubernetes 1.10, so the role would never start; "
            "set gpu.count, which requests nvidia.com/gpu",
            _of_worker(gpu={"count": 2}),
        )
        for where, said in {
            "limits": {"limits": {LEGACY: 1}},
            "both": {"limits": {LEGACY: 1}, "requests": {LEGACY: 1}},
            "a share": {"gpu": {"share": {LEGACY: 1}}},
            "its resource": {"gpu": {"resource": LEGACY}},
        }.items()
    ),
]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("refusals"))


@pytest.mark.parametrize("case", CONTRADICTIONS, ids=lambda case: case.name)
def test_helm_refuses_what_tfgen_refuses_in_the_same_words(case, rendered):
    assert case.says in _refusal(rendered, *_setting(case.values))
    found = check(dump(saying(JOB, case.values)), "job.yaml").problems
    assert [problem for problem in found if case.says in problem.message], found


@pytest.mark.parametrize("case", CONTRADICTIONS, ids=lambda case: case.name)
def test_helm_takes_its_neighbour(case, rendered):
    assert rendered.by_helm(*_setting(case.neighbour))
    assert accepted(saying(JOB, case.neighbour))


def _setting(values: Mapping[str, Any]) -> list[str]:
    return [argument for key, value in values.items() for argument in ("--set-json", f"{key}={json.dumps(value)}")]


def test_a_weaker_profile_lets_more_volumes_through(tmp_path):
    """The chart's schema has the volumes of its profile: two of three profiles have no hostPath, and one has no nfs."""
    for profile, taken in {"restricted": [], "baseline": ["nfs"], "privileged": ["nfs", "hostPath"]}.items():
        rendered = Rendered.write(saying(JOB, {"security": {"profile": profile}}), tmp_path / profile)
        for source, said in {"nfs": {"server": "a", "path": "/"}, "hostPath": {"path": "/y"}}.items():
            args = _setting({"storage": {"x": {"mountPath": "/x", source: said}}})
            if source in taken:
                assert rendered.by_helm(*args)
            else:
                assert f"additional properties '{source}' not allowed" in _refusal(rendered, *args)
                templates = (rendered.chart / "templates").rglob("*")
                assert not any(source in path.read_text(encoding="utf-8") for path in templates if path.is_file())


def test_helm_refuses_a_volume_where_the_code_is(tmp_path):
    job = saying(JOB, {"code": {"configMap": {"files": {"train.py": "pass"}}}})
    rendered = Rendered.write(job, tmp_path)
    values = {"storage": {"x": _volume("/code")}}
    says = "storage.x is mounted at /code, and so is code; choose another mountPath"
    assert says in _refusal(rendered, *_setting(values))
    (problem,) = check(dump(saying(job, values)), "job.yaml").problems
    assert problem.message == "code is mounted at /code, and so is storage.x; choose another mountPath"
    assert rendered.by_helm(*_setting({**values, "code": {"mountPath": "/src"}}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_helm_refuses(case, rendered):
    refusal = _refusal(rendered, *case.args, release=case.release)
    assert [part for part in case.says if part not in refusal] == [], refusal


@pytest.mark.parametrize("file", ["finisher.py", "run_lock.py"])
@pytest.mark.parametrize("text", [None, ""], ids=["missing", "empty"])
def test_helm_refuses_a_chart_without_a_program(file, text, tmp_path):
    """A packaging program that copies only templates may omit the program."""
    rendered = Rendered.write(saying(JOB, {"storage": {"data": {"runs": "Shared"}}}), tmp_path)
    program = rendered.chart / "files" / file
    program.unlink()
    if text is not None:
        program.write_text(text, encoding="utf-8")
    assert f"the chart has no files/{file}, or it is empty" in _refusal(rendered)


def test_no_program_says_what_helm_deletes():
    assert [name for name in ("finisher", "run_lock") if "<no value>" in programs.file(name).text] == []


def test_helm_deletes_what_the_schema_refuses(tmp_path):
    """Helm's engine deletes this text, because Helm writes it for a missing value (pkg/engine/engine.go, render)."""
    rendered = Rendered.write(JOB, tmp_path)
    (rendered.chart / "values.schema.json").unlink()
    pods = [
        item["spec"]["template"]
        for item in rendered.by_helm("--set", "args={a<no value>b}").values()
        if item["kind"] == "StatefulSet"
    ]
    assert [pod["spec"]["containers"][0]["args"] for pod in pods] == [["ab"], ["ab"]]


def test_helm_refuses_a_minimum_above_the_sum_of_a_gang_only_where_there_is_one(rendered):
    assert rendered.by_helm("--set", "gang.minAvailable=7")
    assert rendered.by_helm("--set", "gang.minAvailable=8,gang.enabled=false")


def test_helm_refuses_a_stateful_set_whose_name_is_too_long(rendered):
    """A StatefulSet name of 52 characters is valid, but not one of 53: the label controller-revision-hash has 63.

    The label is NAME-HASH, with a hash of 10 characters.
    """
    longest = "x" * (52 - len("-mnist-worker"))
    objects = rendered.by_helm(release=longest)
    assert max(len(name) for _, kind, name in objects if kind == "StatefulSet") == 52
    refusal = _refusal(rendered, release=longest + "x")
    assert f"StatefulSet's name {longest}x-mnist-worker has 53 characters, but the name of a StatefulSet may" in refusal
    assert "shorten the name of the job, of the release or of the run" in refusal
    refusal = _refusal(rendered, "--set", "run=x", release=longest)
    assert f"{longest}-mnist-x-worker has 54 characters" in refusal


def test_helm_refuses_a_tf_config_that_is_too_long(rendered):
    """TF_CONFIG fits with the largest number of workers that Helm accepts. With one more, the counted bytes do not fit.

    tfgen counts five digits for the index of a task, but Kubernetes may write one digit.
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
        r"TF_CONFIG would have (\d+) bytes, but an environment variable may have at most 131071; reduce", refusal
    )
    assert told, refusal
    assert one_more <= int(told[1]) <= one_more + 4


def _with_workers(rendered: Rendered, count: int) -> Objects:
    return rendered.by_helm("--set", f"roles.worker.replicas={count}")


def _longest_tf_config(objects: Objects) -> int:
    """Return the bytes of the longest TF_CONFIG, expanded as Kubernetes expands it for the last pod of each role."""
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
    """Return the error message of Helm."""
    with pytest.raises(CommandError) as caught:
        rendered.by_helm(*args, release=release)
    return caught.value.stderr
