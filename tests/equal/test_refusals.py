"""Values and names that Helm refuses for the chart, with a message that explains the fix.

The oldest Helm in the README of a chart has another schema validator (gojsonschema, which supports drafts up to 07),
with other messages. It gives the same objects, and refuses the same values.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import normal
from tests.support.chart_job import JOB
from tests.support.command import WITHOUT_COLLECTION, Command, CommandError
from tests.support.examples import each_environment
from tests.support.generated import accepted, saying
from tests.support.helm import HelmProgram
from tests.support.rendered import Rendered
from tests.support.tools import LEAST_KUBERNETES, ROOT, helm, helm_lint, oldest_helm_program
from tfgen.check.jobs import check
from tfgen.graph import programs
from tfgen.graph.graph import plain_objects
from tfgen.schema import tunables
from tfgen.text.yaml_text import dump

ENVIRONMENT_STRING_MAX = 131_071
"""Maximum bytes of NAME=VALUE: 32 pages of 4,096, minus the final zero (execve(2), MAX_ARG_STRLEN)."""


class OldestHelm(HelmProgram):
    """The oldest Helm, with a version of Kubernetes as an option, because its default is too old for the charts.

    With /dev/null as kubeconfig, Helm warns that other users may read the file. With a missing file, Helm prints
    nothing.
    """

    def template(self, chart: Path, release: str, *args: str) -> str:
        argv = (self.path, "template", release, chart, "--kube-version", LEAST_KUBERNETES, *args)
        own = {"KUBECONFIG": f"{chart}/none", "HELM_NAMESPACE": "default"}
        return Command(argv, env={**WITHOUT_COLLECTION, **own}).run(silent=True)


HELMS = {"helm": helm, "helm-3.14": lambda: OldestHelm(oldest_helm_program())}
each_helm = pytest.mark.parametrize("helm", HELMS)


@pytest.fixture(scope="module")
def chart(tmp_path_factory):
    return Rendered.write(JOB, tmp_path_factory.mktemp("chart"))


def refusal(chart, *args, **more):
    """Return the error message of Helm."""
    with pytest.raises(CommandError) as caught:
        chart.by_helm(*args, **more)
    return caught.value.stderr


def set_json(values):
    return [argument for key, value in values.items() for argument in ("--set-json", f"{key}={json.dumps(value)}")]


# -- values that the schema of the chart refuses -----------------------------------------------------------------------


def pointer(*path: str) -> str:
    """Return a JSON pointer (RFC 6901) to a path."""
    return "".join(f"/{key.replace('~', '~0').replace('/', '~1')}" for key in path)


# The reason, an argument of Helm, the place, and advice that the oldest Helm prints as well.
ADVICE = [
    *(
        (f"a value of other charts: {name}", f"--set {setting}", f"'/{name}'", f"unset; use {key}")
        for name, setting, key in (
            ("podAnnotations", "podAnnotations.a=b", "annotations"),
            ("podLabels", "podLabels.a=b", "labels"),
            ("podSecurityContext", "podSecurityContext.fsGroup=1", "security"),
            ("extraEnv", "extraEnv[0].name=A", "env"),
            ("persistence", "persistence.enabled=true", "storage"),
            ("replicaCount", "replicaCount=3", "roles.ROLE.replicas, where ROLE is ps or worker"),
            (
                "resources",
                "resources.limits.cpu=1",
                "roles.ROLE.resources, where ROLE is chief, ps, worker or evaluator",
            ),
        )
    ),
    (
        "the parts of an image, in a role",
        "--set roles.ps.image.tag=2",
        "'/roles/ps/image'",
        "a text: REGISTRY/NAME:TAG",
    ),
    (
        "the name of a pull secret",
        "--set imagePullSecrets[0]=hub",
        "'/imagePullSecrets/0'",
        "a mapping: {name: SECRET}",
    ),
    ("enabled without a parent chart", "--set enabled=false", "'/enabled'", "true"),
    (
        "two sources",
        "--set-json storage.data.emptyDir={}",
        "'/storage/data/claim'",
        "null, by --set storage.data.claim=null",
    ),
    *(
        (
            f"a reserved name: {path[-1]}",
            f"--set-json {setting}",
            f"'{pointer(*path)}'",
            "unset; the name is reserved",
        )
        for setting, *path in (
            ('labels={"tfgen/job": "x"}', "labels", "tfgen/job"),
            ('roles.ps.labels={"app.kubernetes.io/name": "x"}', "roles", "ps", "labels", "app.kubernetes.io/name"),
            ('annotations={"helm.sh/hook": "x"}', "annotations", "helm.sh/hook"),
            ('env.TF_CONFIG="x"', "env", "TF_CONFIG"),
            ('storage.tmp={"mountPath": "/x", "emptyDir": {}}', "storage", "tmp"),
            ('priorityClasses.system-x={"value": 1}', "priorityClasses", "system-x"),
        )
    ),
]

# The reason, an argument of Helm, and the texts that the message must contain.
REFUSED = [
    *ADVICE,
    ("null", "--set image=null", "at ''", "missing property 'image'"),
    ("an amount below 0", "--set-json shm=-0.5", "'/shm'", "-0.5"),
    ("an amount past what Go writes without an exponent", "--set-json shm=1e6", "'/shm'", "want 999,999"),
    (
        "a role that the job lacks",
        '--set-json storage.data.for=["ps", "tensorboard"]',
        "'/storage/data/for/1'",
        "one of 'chief', 'ps', 'worker', 'evaluator'",
    ),
    ("null in a role", "--set roles.ps.replicas=null", "'/roles/ps'", "missing property 'replicas'"),
    ("a removed role", "--set roles.worker=null", "'/roles'", "missing property 'worker'"),
    ("null in a map", "--set storage.data.mountPath=null", "'/storage/data'", "missing property 'mountPath'"),
    ("text for a number", "--set-string roles.ps.replicas=4", "'/roles/ps/replicas'", "got string, want integer"),
    ("a fraction", "--set-json roles.ps.replicas=1.5", "'/roles/ps/replicas'", "got number, want integer"),
    ("text for a list", "--set command=train", "'/command'", "got string, want array"),
    ("a fraction for text", "--set-json run=2.5", "'/run'", "got number, want integer or string"),
    ("a list in env", "--set env.A={1}", "'/env/A'", "got array, want boolean or integer or string or object"),
    ("no list", "--set tolerations=null", "at ''", "missing property 'tolerations'"),
    ("too few", "--set roles.ps.replicas=0", "'/roles/ps/replicas'", "got 0, want 1"),
    ("unknown key", "--set imagee=a", "additional properties 'imagee' not allowed"),
    ("unknown key in a role", "--set roles.chief.replicas=2", "'/roles/chief/replicas'", "false schema"),
    ("not tunable", "--set gang.scheduler=kube-batch", "'/gang'", "'scheduler' not allowed"),
    ("no choice", "--set-string network.policy=off", "'/network/policy'", "one of 'Isolated', 'Off'"),
    ("what Helm deletes", '--set-json args=["<no value>"]', "'/args/0'", "'not' failed"),
    ("what Helm deletes, in env", "--set env.A=a <no value>", "'/env/A'", "'not' failed"),
    ("what Helm deletes, in a path", "--set workingDir=/<no value>", "'/workingDir'", "'not' failed"),
    (
        "what Helm deletes, in a key",
        '--set-json affinity={"podAffinity": {"<no value>": []}}',
        "invalid propertyName '<no value>'",
        "'not' failed",
    ),
    ("capitals in run", "--set run=Big", "'/run'", "'Big' does not match pattern"),
    ("a scheme in the image", "--set image=https://r.example.com/m", "'/image'", "does not match pattern"),
    ("a toleration", "--set tolerations[0].operator=Equal", "'/tolerations/0'", "'not' failed"),
    ("a resource of nobody", "--set roles.ps.resources.limits.foo=1", "invalid propertyName 'foo'"),
    ("no range", "--set network.egress.rules[0].to[0].ipBlock.cidr=999.0.0.0/8", "cidr'", "does not match"),
    ("no image", "--set image=", "role chief has no image", "set image for the job, or roles.chief.image"),
    (
        "a minimum above the sum of a gang",
        "--set gang.minAvailable=8",
        "gang.minAvailable is 8, but the gang has only 7 tasks",
        "0 for all tasks",
    ),
    (
        "root",
        "--set security.runAsUser=0",
        "security.runAsUser is 0, which the Pod Security Standard restricted forbids",
        "set another user",
    ),
    ("a full name that YAML reads as a number", "--set-string fullnameOverride=1e3", "/fullnameOverride"),
    ("a full name with a dot", "--set-string fullnameOverride=a.b", "/fullnameOverride"),
    ("a name with a capital", "--set-string nameOverride=A", "/nameOverride"),
    ("a name with a hyphen at its end", "--set-string nameOverride=a-", "/nameOverride"),
    ("a full name that is too long", f"--set-string fullnameOverride={'a' * 46}", "has 53 characters, but the name of"),
    # A fraction can have several texts, and a number above 2^53 - 1 has lost digits.
    ("a fraction in env", "--set-json env.A=0.5"),
    ("a negative number as a label", "--set-json labels.a=-1"),
    ("a negative number as a label of a role", "--set-json roles.ps.labels.a=-1"),
    ("a negative run", "--set-json run=-1"),
    ("a run that is true", "--set-json run=true"),
    ("a number with lost digits", "--set-json args=[9007199254740992]"),
]
each_refused = pytest.mark.parametrize("case", REFUSED, ids=[case[0] for case in REFUSED])


@pytest.mark.long
@each_refused
def test_helm_refuses(case, chart):
    _, argument, *parts = case
    found = refusal(chart, *argument.split(maxsplit=1))
    assert [part for part in parts if part not in found] == [], found


@each_refused
def test_oldest_helm_refuses_the_same(case, chart):
    found = refusal(chart, *case[1].split(maxsplit=1), helm=HELMS["helm-3.14"]())
    assert case not in ADVICE or case[-1] in found


@pytest.mark.long
def test_name_of_an_existing_claim_replaces_a_new_claim_and_not_the_reverse(tmp_path):
    new_claim = {"size": "1Gi", "accessMode": "ReadWriteMany", "storageClass": "nfs"}

    def with_claim(job, claim):
        return saying(job, {"storage": {"data": {"claim": claim}}})

    def in_dev(job, claim):
        return saying(job, {"environments": {"dev": {"storage": {"data": {"claim": claim}}}}})

    new = saying(with_claim(JOB, new_claim), {"environments": {"dev": {}}})
    named = with_claim(new, {"name": "mine", **dict.fromkeys(new_claim)})
    by_set = Rendered.write(new, tmp_path / "new").by_helm("--set", "storage.data.claim.name=mine")
    chart = Rendered.write(named, tmp_path / "named")
    assert by_set == chart.by_helm()

    assert accepted(in_dev(new, {"name": "mine"}))
    dev = Rendered.write(in_dev(new, {"name": "mine"}), tmp_path / "dev")
    dev.assert_equal("dev")
    assert dev.by_helm(*dev.values_args("dev")) == by_set
    assert helm_lint(dev.chart, "--strict", *dev.values_args("dev"))

    found = refusal(chart, "--set", "storage.data.claim.size=2Gi")
    assert "'/storage/data/claim/size'" in found
    *_, setting = re.findall(r"add --set (\S+)'", found)
    assert setting == "storage.data.claim.name=null"
    objects = chart.by_helm("--set", f"storage.data.claim.size=1Gi,{setting}")
    assert [kind for _, kind, _ in objects if kind == "PersistentVolumeClaim"]
    assert not accepted(in_dev(new, {"name": "mine", "size": "2Gi"}))
    assert not accepted(in_dev(named, {"size": "2Gi"}))


@each_helm
@pytest.mark.parametrize(
    ("release", "args", "says"),
    [
        ("mnist.x", (), "mnist.x, which is not a DNS label"),
        ("1", (), "1-mnist, which is not a DNS label"),
        ("prod", ("--set-string", f"nameOverride={'a' * 41}"), "has 53 characters, but the name of a StatefulSet may"),
    ],
)
def test_helm_refuses_a_release(release, args, says, helm, chart):
    found = refusal(chart, *args, release=release, helm=HELMS[helm]())
    assert says in found
    assert "choose another release name" in found or args


# -- values that a guard refuses ---------------------------------------------------------------------------------------


def volume(path: str, **more: Any) -> dict[str, Any]:
    return {"mountPath": path, "emptyDir": {}, **more}


def of_worker(**resources: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"resources": resources}}}


LEGACY = "alpha.kubernetes.io/nvidia-gpu"

# Values that Helm and tfgen refuse, Helm with this message, and similar values that both accept.
OVERRIDDEN = (
    "role worker has gpu.count 1 and the limit {} of nvidia.com/gpu, which overrides gpu.count; "
    "set the number only in gpu.count"
)
CONTRADICTIONS = [
    pytest.param(
        {"roles": {"chief": {"resources": {"limits": {"nvidia.com/gpu": "1Gi"}}}}},
        "role chief requests 1Gi of nvidia.com/gpu, which is not a GPU count up to 1024; write the number in digits",
        of_worker(limits={"nvidia.com/gpu": "1", "example.com/gpucores": "1Gi"}),
        id="memory for GPUs",
    ),
    pytest.param(
        of_worker(limits={"nvidia.com/mig-1g.5gb": 1025}),
        "role worker requests 1025 of nvidia.com/mig-1g.5gb, which is not a GPU count up to 1024",
        of_worker(limits={"nvidia.com/mig-1g.5gb": 1024}),
        id="more GPUs than a node has",
    ),
    pytest.param(
        {"run": "2", "resumeFrom": "1"},
        "resumeFrom names the folder of a run, but no volume has a folder for each run; set runs: Separate in storage",
        {"run": "2", "resumeFrom": "1", "storage": {"data": {"runs": "Separate"}}},
        id="no folder to go on in",
    ),
    pytest.param(
        {"run": "1", "storage": {"data": {"runs": "Separate"}}},
        "run 1 would use the folder of the run without a name; choose another name, and set resumeFrom to 1",
        {"run": "1", "storage": {"data": {"runs": "Shared"}}},
        id="the folder of the run without a name",
    ),
    pytest.param(
        {"storage": {"data": {"subPath": "a", "subPathExpr": "$(TASK_INDEX)"}}},
        "storage.data has both subPath and subPathExpr; remove one of the two",
        {"storage": {"data": {"subPathExpr": "$(TASK_INDEX)"}}},
        id="two folders of one volume",
    ),
    pytest.param(
        {"storage": {"x": volume("//tmp/./")}},
        "storage.x is mounted at /tmp, and so is the temporary folder of every pod; choose another mountPath",
        {"storage": {"x": volume("/tmp/x")}},
        id="the temporary folder",
    ),
    pytest.param(
        {"storage": {"x": volume("/dev/shm")}, "roles": {"worker": {"shm": "1Gi"}}},
        "storage.x is mounted at /dev/shm, and so is shm; choose another mountPath",
        {"storage": {"x": volume("/dev/shm", **{"for": ["ps"]})}, "roles": {"worker": {"shm": "1Gi"}}},
        id="the shared memory",
    ),
    pytest.param(
        {"storage": {"x": volume("/x", **{"for": ["ps", "worker"]}), "y": volume("/x/", **{"for": ["worker"]})}},
        "is mounted at /x, and so is storage.",
        {"storage": {"x": volume("/x", **{"for": ["ps"]}), "y": volume("/x/", **{"for": ["worker"]})}},
        id="two volumes in one place",
    ),
    pytest.param(
        {"network": {"policy": "Off", "egress": {"limited": True}}},
        "network.policy is Off, so no policy limits egress; set network.policy to Isolated, or network.egress.limited",
        {"network": {"policy": "Isolated", "egress": {"limited": True}}},
        id="a limit that no policy keeps",
    ),
    pytest.param(
        of_worker(limits={"nvidia.com/gpu": 3}),
        OVERRIDDEN.format(3),
        of_worker(limits={"nvidia.com/gpu": 1}),
        id="more GPUs than are counted",
    ),
    pytest.param(
        of_worker(limits={"nvidia.com/gpu": "0"}),
        OVERRIDDEN.format(0),
        of_worker(limits={"nvidia.com/gpu": 3}, gpu={"count": 0}),
        id="no GPU in the end",
    ),
    *(
        pytest.param(
            of_worker(**said),
            f"role worker requests {LEGACY}, which no node has since Kubernetes 1.10, so the role would never start; "
            "set gpu.count, which requests nvidia.com/gpu",
            of_worker(gpu={"count": 2}),
            id=f"the first name of a GPU in {where}",
        )
        for where, said in {
            "limits": {"limits": {LEGACY: 1}},
            "both": {"limits": {LEGACY: 1}, "requests": {LEGACY: 1}},
            "a share": {"gpu": {"share": {LEGACY: 1}}},
            "its resource": {"gpu": {"resource": LEGACY}},
        }.items()
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("values", "says", "neighbour"), CONTRADICTIONS)
def test_helm_and_tfgen_refuse_a_contradiction_in_the_same_words(values, says, neighbour, chart):
    assert says in refusal(chart, *set_json(values))
    found = check(dump(saying(JOB, values)), "job.yaml").problems
    assert [problem for problem in found if says in problem.message], found
    assert chart.by_helm(*set_json(neighbour))
    assert accepted(saying(JOB, neighbour))


@pytest.mark.long
def test_weaker_profile_allows_more_volumes(tmp_path):
    """The chart's schema has the volumes of its profile: two of three profiles have no hostPath, and one has no nfs."""
    for profile, allowed in {"restricted": [], "baseline": ["nfs"], "privileged": ["nfs", "hostPath"]}.items():
        chart = Rendered.write(saying(JOB, {"security": {"profile": profile}}), tmp_path / profile)
        for source, said in {"nfs": {"server": "a", "path": "/"}, "hostPath": {"path": "/y"}}.items():
            args = set_json({"storage": {"x": {"mountPath": "/x", source: said}}})
            if source in allowed:
                assert chart.by_helm(*args)
            else:
                assert f"additional properties '{source}' not allowed" in refusal(chart, *args)
                templates = (path for path in (chart.chart / "templates").rglob("*") if path.is_file())
                assert not any(source in path.read_text(encoding="utf-8") for path in templates)


def test_helm_refuses_a_volume_at_the_path_of_the_code(tmp_path):
    job = saying(JOB, {"code": {"configMap": {"files": {"train.py": "pass"}}}})
    chart = Rendered.write(job, tmp_path)
    values = {"storage": {"x": volume("/code")}}
    says = "storage.x is mounted at /code, and so is code; choose another mountPath"
    assert says in refusal(chart, *set_json(values))
    (problem,) = check(dump(saying(job, values)), "job.yaml").problems
    assert problem.message == "code is mounted at /code, and so is storage.x; choose another mountPath"
    assert chart.by_helm(*set_json({**values, "code": {"mountPath": "/src"}}))


def test_minimum_above_the_sum_of_a_gang_is_accepted_without_the_gang(chart):
    assert chart.by_helm("--set", "gang.minAvailable=7")
    assert chart.by_helm("--set", "gang.minAvailable=8,gang.enabled=false")


@pytest.mark.long
def test_helm_refuses_a_stateful_set_whose_name_is_too_long(chart):
    """A StatefulSet name of 52 characters is valid, but not one of 53: the label controller-revision-hash has 63.

    The label is NAME-HASH, with a hash of 10 characters.
    """
    longest = "x" * (52 - len("-mnist-worker"))
    objects = chart.by_helm(release=longest)
    assert max(len(name) for _, kind, name in objects if kind == "StatefulSet") == 52
    found = refusal(chart, release=longest + "x")
    assert f"StatefulSet's name {longest}x-mnist-worker has 53 characters, but the name of a StatefulSet may" in found
    assert "shorten the name of the job, of the release or of the run" in found
    assert f"{longest}-mnist-x-worker has 54 characters" in refusal(chart, "--set", "run=x", release=longest)


@pytest.mark.long
def test_helm_refuses_a_tf_config_that_is_too_long(chart):
    """TF_CONFIG fits with the largest number of workers that Helm accepts. With one more, the counted bytes do not fit.

    tfgen counts five digits for the index of a task, but Kubernetes may write one digit.
    """

    def with_workers(count):
        return chart.by_helm("--set", f"roles.worker.replicas={count}")

    taken, refused = 1, 10_000
    while refused - taken > 1:
        middle = (taken + refused) // 2
        try:
            with_workers(middle)
            taken = middle
        except CommandError:
            refused = middle
    largest = longest_tf_config(with_workers(taken))
    one_more = largest + len(f',"mnist-worker-{taken}.mnist:2222"')
    assert largest <= ENVIRONMENT_STRING_MAX < one_more + 4
    told = re.search(
        r"TF_CONFIG would have (\d+) bytes, but an environment variable may have at most 131071; reduce",
        refusal(chart, "--set", f"roles.worker.replicas={refused}"),
    )
    assert one_more <= int(told[1]) <= one_more + 4


def longest_tf_config(objects):
    """Return the bytes of the longest TF_CONFIG, expanded as Kubernetes expands it for the last pod of each role."""
    (clusters,) = (item["data"] for key, item in objects.items() if key[1] == "ConfigMap" and "cluster" in item["data"])
    sizes = []
    for item in objects.values():
        for container in item.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            env: dict[str, Any] = {variable["name"]: variable for variable in container.get("env", [])}
            if "TF_CONFIG" in env:
                cluster = clusters[env["TF_CLUSTER"]["valueFrom"]["configMapKeyRef"]["key"]]
                last = (item["spec"].get("replicas") or item["spec"]["completions"]) - 1
                text = env["TF_CONFIG"]["value"].replace("$(TF_CLUSTER)", cluster).replace("$(TASK_INDEX)", str(last))
                assert json.loads(text)["task"]["index"] == last
                sizes.append(len(f"TF_CONFIG={text}".encode()))
    return max(sizes)


# -- charts that lack a part ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("file", ["finisher.py", "run_lock.py"])
@pytest.mark.parametrize("text", [None, ""], ids=["missing", "empty"])
def test_helm_refuses_a_chart_without_a_program(file, text, tmp_path):
    """A packaging program that copies only templates may omit the program."""
    chart = Rendered.write(saying(JOB, {"storage": {"data": {"runs": "Shared"}}}), tmp_path)
    program = chart.chart / "files" / file
    program.unlink()
    if text is not None:
        program.write_text(text, encoding="utf-8")
    assert f"the chart has no files/{file}, or it is empty" in refusal(chart)


def test_helm_deletes_what_the_schema_refuses(tmp_path):
    """Helm's engine deletes this text, because Helm writes it for a missing value (pkg/engine/engine.go, render)."""
    assert [name for name in ("finisher", "run_lock") if "<no value>" in programs.file(name).text] == []
    chart = Rendered.write(JOB, tmp_path)
    (chart.chart / "values.schema.json").unlink()
    objects = chart.by_helm("--set", "args={a<no value>b}").values()
    pods = [item["spec"]["template"] for item in objects if item["kind"] == "StatefulSet"]
    assert [pod["spec"]["containers"][0]["args"] for pod in pods] == [["ab"], ["ab"]]


# -- numbers and booleans in place of text -----------------------------------------------------------------------------

# A chart accepts an integer or a boolean where job.yaml accepts only text. `--set` creates an int64 of Go, and a values
# file a float64, whose text is 1e+06 for 1000000.
NUMBERS = {
    "run": {"run": "2"},
    "run of many digits": {"run": "1000000"},
    "run whose number is not true": {"run": "0"},
    "folder of a run": {"run": "3", "resumeFrom": "1", "storage": {"data": {"runs": "Separate"}}},
    "env": {"env": {"STEPS": "1000000", "SEED": "-1", "ZERO": "0", "DEBUG": "true", "QUIET": "false"}},
    "env of a role": {"roles": {"worker": {"env": {"STEPS": "9007199254740991"}}}},
    "labels": {"labels": {"cost": "12345678", "paid": "true"}, "roles": {"ps": {"labels": {"shard": "0"}}}},
    "annotations": {"annotations": {"t": "1000000"}, "roles": {"chief": {"annotations": {"t": "2000000"}}}},
    "nodes": {"nodeSelector": {"rack": "1000000"}, "roles": {"worker": {"nodeSelector": {"fast": "true"}}}},
    "args": {"args": ["--steps", "1000000", "--debug", "true"], "roles": {"ps": {"args": ["--rank", "0"]}}},
    "command": {"command": ["sleep", "1000000"]},
    "commit whose hash has only digits": {"code": {"git": {"revision": "1234567"}}},
}
GIT = {"code": {"git": {"repository": "https://git.example.com/ml/train.git", "revision": "main"}}}


def numbers(text):
    """Return values with a number or a boolean in place of each text that YAML reads as one."""
    if isinstance(text, dict):
        return {key: numbers(inner) for key, inner in text.items()}
    return [*map(numbers, text)] if isinstance(text, list) else yaml.safe_load(text)


def settings(values, path=()):
    """Yield the values as settings of `helm --set`."""
    if isinstance(values, dict):
        for key, inner in values.items():
            yield from settings(inner, (*path, key))
    else:
        yield f"{'.'.join(path)}={{{','.join(values)}}}" if isinstance(values, list) else f"{'.'.join(path)}={values}"


@each_helm
@pytest.mark.parametrize("texts", NUMBERS.values(), ids=NUMBERS)
def test_number_or_boolean_is_its_text(texts, helm, tmp_path):
    base = saying(JOB, GIT if "code" in texts else {})
    job, chart, program = saying(base, texts), Rendered.write(base, tmp_path), HELMS[helm]()
    assert accepted(job)
    assert not accepted(saying(base, numbers(texts)))
    normal.assert_equal(
        {
            "tfgen": normal.by_identity(plain_objects(job)),
            "helm --values": chart.by_helm_with(numbers(texts), helm=program),
            "helm --set": chart.by_helm("--set", ",".join(settings(texts)), helm=program),
        }
    )


def test_every_value_that_may_be_a_number_is_among_the_cases():
    tunable = tunables.tunables({**JOB["spec"], "code": {"git": {}}})
    there = {path[-1] for path, each in tunable.items() if each.chart_types}
    tried = {step for texts in NUMBERS.values() for setting in settings(texts) for step in re.split("[.=]", setting)}
    assert there <= tried


# -- the oldest Helm --------------------------------------------------------------------------------------------------


@each_environment
def test_oldest_helm_gives_the_same_objects(rendered, environment):
    args = rendered.values_args(environment)
    oldest = rendered.by_helm(*args, helm=HELMS["helm-3.14"]())
    normal.assert_equal({"oldest": oldest, "newest": rendered.by_helm(*args)})


def test_oldest_helm_is_the_one_in_the_readme():
    readme = (ROOT / "charts/dist-mnist/README.md").read_text(encoding="utf-8")
    pinned = re.search(r"helm\.sh/helm/v3 v(\d+\.\d+)\.", (ROOT / "tests/e2e/tools/helm-3.14/go.mod").read_text())
    assert f"Helm {pinned[1]} or newer" in readme
