from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.check.object_links import Objects
from tfgen.check.object_table import SUMMARIES, WARNINGS
from tfgen.graph.fill import Scope, evaluate
from tfgen.graph.graph import plain_objects
from tfgen.graph.guards import file_guards, guards
from tfgen.job.training_job import TrainingJob
from tfgen.rules import security, table
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES
from tfgen.rules.view import View, views
from tfgen.text.parse import parse

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles:
    chief: {}
    ps: {replicas: 2}
    worker:
      env: {LEVEL: info}
      resources: {limits: {cpu: 2}}
    evaluator: {}
  storage:
    data: {mountPath: /data, claim: {name: data}, for: [chief, ps]}
  gang: {scheduler: volcano}
  environments:
    dev:
      image: registry.example.com/ml/mnist:dev
      roles:
        worker:
          env: {LEVEL: debug, EXTRA: x}
          resources: {limits: {memory: 1Gi}}
      storage:
        data: {for: [worker]}
        model: {mountPath: /model, emptyDir: {}}
"""

# Other strategies have other guards.
MIRRORED = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mirrored}
spec:
  strategy: MultiWorkerMirrored
  image: registry.example.com/ml/mnist:1.4.0
  roles: {worker: {replicas: 4}}
  gang: {scheduler: kube-batch}
  tensorboard: {logDir: /logs}
"""

SINGLE = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: single}
spec:
  strategy: Single
  image: registry.example.com/ml/mnist:1.4.0
  roles: {chief: {}}
"""


SEEN_BY_OTHERS = ("duplicate-mount-path", "gpu-count", "legacy-gpu", "sub-path-twice")
"""Guards whose rules see more than a chart can see, so `table.GUARDED` does not list the rules."""


def both() -> tuple[View, View]:
    job, dev = views(parse(JOB, "job.yaml").documents[0])
    return job, dev


def test_ids_are_unique() -> None:
    ids = [rule.id for rule in (*RULES, *ACROSS)]
    assert sorted(set(ids)) == sorted(ids)


def test_every_rule_is_in_the_table() -> None:
    files = Path(table.__file__).parent.glob("*.py")
    decorated = {rule for file in files for rule in re.findall(r'^@rule\(\s*"([^"]+)"', file.read_text("utf-8"), re.M)}
    assert len(decorated) > 50
    assert decorated <= {rule.id for rule in RULES}


@pytest.mark.parametrize("profile", ["restricted", "privileged"])
def test_every_guard_is_a_rule(profile: str) -> None:
    document = parse(f"{JOB}  security: {{profile: {profile}}}\n", "job.yaml").documents[0]
    found = {guard.rule for guard in guards(TrainingJob.from_document(document.data).structure)}
    assert found <= {*table.GUARDED, *SEEN_BY_OTHERS}
    assert {*SEEN_BY_OTHERS} <= {rule.id for rule in RULES}


# The rules that no value of a chart can violate, and the rules on objects that only kustomize refuses.
OF_THE_STRUCTURE = """
    code-name code-size controlled-field gang-objects git-secret legacy-flags missing-role nothing-ends-the-job
    patch-field patch-target pod-security unused-role volume-profile workload-kind uncarried-text
"""

OF_THE_VALUES_SCHEMA = ("unknown-role",)
"""The rules that the values schema of a chart contains, but the schema of all jobs cannot contain."""


def test_what_a_chart_does_not_refuse_is_listed() -> None:
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    section = page.split("## What only tfgen checks\n")[1].split("\n## ")[0]
    listed = set(re.findall("`([a-z-]+)`", section))
    errors = {*(rule.id for rule in RULES if rule.severity == "error"), *(SUMMARIES.keys() - WARNINGS)}
    assert errors - {*table.GUARDED, *SEEN_BY_OTHERS, *OF_THE_VALUES_SCHEMA} == listed | set(OF_THE_STRUCTURE.split())


def test_every_summary_has_its_guard() -> None:
    elastic = (ROOT / "examples" / "elasticdl-mnist" / "job.yaml").read_text(encoding="utf-8")
    eci = (ROOT / "examples" / "eci-imagenet" / "job.yaml").read_text(encoding="utf-8")
    volcano = f"{JOB}  workload: {{kind: VolcanoJob}}\n"
    account = f"{JOB}  serviceAccount: {{create: true}}\n"
    texts = (JOB, MIRRORED, SINGLE, MIRRORED.replace("kube-batch", "kueue"), elastic, eci, volcano, account)
    structures = [TrainingJob.from_document(parse(text, "job.yaml").documents[0].data).structure for text in texts]
    rules = {guard.rule for structure in structures for guard in (*guards(structure), *file_guards(structure))}
    assert rules == {*table.GUARDED, *SEEN_BY_OTHERS}


def test_a_release_may_have_a_name_that_no_job_has() -> None:
    job, _ = both()
    (guard,) = (guard for guard in guards(job.job.structure) if guard.rule == "service-name")
    named = {name: evaluate(guard.when, Scope(job.values, release=name, chart="mnist")) for name in ("1st", "first")}
    assert named == {"1st": True, "first": False}


@pytest.mark.parametrize(
    ("path", "in_job", "in_dev"),
    [
        (("image",), (5, 10), (18, 14)),
        (("roles", "worker", "env", "LEVEL"), (10, 20), (21, 24)),
        (("roles", "worker", "env", "EXTRA"), (10, 7), (21, 38)),
        # A map belongs to the environment only if the environment adds the whole map.
        (("roles", "worker"), (9, 5), (9, 5)),
        (("roles", "worker", "resources", "limits"), (11, 19), (11, 19)),
        (("storage", "model"), (13, 3), (25, 9)),
        (("storage", "model", "emptyDir"), (13, 3), (25, 36)),
        # An environment replaces a list as a whole.
        (("storage", "data", "for", 0), (14, 57), (24, 22)),
        (("storage", "data", "for", 1), (14, 64), (24, 16)),
        # A missing key has the position of the nearest key above.
        (("roles", "ps", "resources", "gpu"), (8, 5), (8, 5)),
        (("gang", "minAvailable"), (15, 3), (15, 3)),
        (("run",), (4, 1), (4, 1)),
    ],
)
def test_place(path: tuple[str | int, ...], in_job: tuple[int, int], in_dev: tuple[int, int]) -> None:
    job, dev = both()
    assert (job.place(path), dev.place(path)) == (("job.yaml", in_job), ("job.yaml", in_dev))


def test_blame_goes_to_what_the_environment_says() -> None:
    job, dev = both()
    paths = ("roles", "ps", "replicas"), ("roles", "worker", "env", "LEVEL")
    assert [view.reported_path(*paths) for view in (job, dev)] == [paths[0], paths[1]]


def test_what_a_role_sees() -> None:
    job, dev = both()
    assert job.effective_field("ps", "image") == (("image",), "registry.example.com/ml/mnist:1.4.0")
    assert [set(view.volumes("ps")) for view in (job, dev)] == [{"data"}, {"model"}]
    assert [v["name"] for v in job.variables("worker")] == [
        "TASK_INDEX",
        "TF_CLUSTER",
        "TF_CONFIG",
        "TFGEN_RUN",
        "TFGEN_RUN_FOLDER",
        "HOME",
        "LEVEL",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "TF_NUM_INTEROP_THREADS",
        "TF_NUM_INTRAOP_THREADS",
    ]


@pytest.mark.parametrize(
    "name",
    ["PASSWORD", "db-password", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "my.apikey", "CREDENTIALS"],
)
def test_secrets_are_known_by_their_name(name: str) -> None:
    assert _warns(name, "a value")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENS", "512"),
        ("TOKEN_LIMIT", "512"),
        ("PASSWORD_FILE", "x"),
        ("BYPASS", "x"),
        ("MONKEY", "x"),
        ("SORT_KEY", "x"),
        ("PAD_TOKEN", "[PAD]"),
        ("EOS_TOKEN", "</s>"),
        ("API_KEY", ""),
        ("API_KEY", "/run/secrets/key"),
        ("API_KEY", "$(OTHER)"),
        ("USE_TOKEN", "true"),
        ("URL", "https://example.com:443/a@b"),
        ("URL", "https://user:$(PASSWORD)@example.com"),
        ("ID", "task-AKIA"),
    ],
)
def test_harmless_variables(name: str, value: str) -> None:
    assert not _warns(name, value)


ADDRESS = "postgres://train:hunter2@db.ml.internal/mnist"


def test_a_credential_is_one_error() -> None:
    job = JOB.replace("env: {LEVEL: info}", f"env: {{HUB_TOKEN: {ADDRESS}}}\n      args: [--db-password={ADDRESS}]")
    found = [(problem.rule, problem.severity, problem.is_soft) for problem in check(job, "job.yaml").problems]
    assert found == [("credential", "error", True)] * 2


def _warns(name: str, value: str) -> bool:
    job, _ = both()
    seen = job.replaced(values={**job.values, "env": {name: value}})
    findings = list(security.plaintext_secret.check(seen))
    assert all(value not in finding.message for finding in findings if value)
    return bool(findings)


@pytest.mark.parametrize("kind", ["StatefulSet", "Job"])
@pytest.mark.parametrize(("replicas", "problems"), [(10, 0), (11, 1)])
def test_the_last_host_of_a_role_must_fit_whatever_makes_it(kind: str, replicas: int, problems: int) -> None:
    """`NAME-RUN-worker-9` has 63 characters, the limit of a DNS label, and `NAME-RUN-worker-10` has 64 characters."""
    name = "a" * 33
    text = f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  run: {"b" * 20}
  image: registry.example.com/ml/mnist:1.4.0
  workload: {{kind: {kind}}}
  roles: {{chief: {{}}, ps: {{}}, worker: {{replicas: {replicas}}}}}
"""
    assert len(f"{name}-{'b' * 20}-worker-9") == 63
    found = [problem for problem in check(text, "job.yaml").problems if problem.rule == "host-name"]
    assert len(found) == problems


@pytest.mark.parametrize("kind", ["StatefulSet", "Job", "TFJob", "VolcanoJob", "JobSet"])
def test_every_name_in_a_pod_is_taken(kind: str) -> None:
    """A sidecar or a volume of podTemplate is a problem if tfgen adds a container or volume of the same name."""
    text = f"""\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {{name: mnist}}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  workload: {{kind: {kind}}}
  code: {{git: {{repository: git@git.example.com:ml/train.git, revision: v1, secretName: key}}}}
  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}
  storage: {{model: {{mountPath: /model, runs: Separate, claim: {{name: model}}}}}}
  shm: 1Gi
"""
    tasks = [pods for pods in Objects(tuple(objects(text))).pods if (*pods.ports,)]
    for pods in tasks:
        names = [container["name"] for _, container in pods.containers]
        # tfgen merges the volume tmp with a volume of the same name.
        volumes = [volume["name"] for volume in pods.spec["volumes"] if volume["name"] != "tmp"]
        role = pods.labels["tfgen/role"]
        sidecars = ", ".join(f"{{name: {name}, image: x:1}}" for name in names)
        beside = ", ".join(f"{{name: {name}, emptyDir: {{}}}}" for name in volumes)
        template = f"{{spec: {{volumes: [{beside}]}}}}"
        wrong = text.replace(f"{role}: {{}}", f"{role}: {{sidecars: [{sidecars}], podTemplate: {template}}}")
        problems = check(wrong, "job.yaml").problems
        assert {problem.rule for problem in problems} == {"duplicate-name"}
        assert len(problems) == len(names) + len(volumes)
    made = {container["name"] for pods in tasks for _, container in pods.containers}
    assert made == {"fetch-code", "lock-model", "tensorflow"}


def objects(text: str) -> list[dict[str, Any]]:
    (document,) = check(text, "job.yaml").documents
    return plain_objects(document.data)


def test_a_capability_that_is_no_text_is_reported() -> None:
    container = "{name: tensorflow, securityContext: {capabilities: {drop: [ALL], add: [{a: b}]}}}"
    job = (
        "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: ml/mnist:1.4.0\n"
        f"  strategy: Single\n  roles: {{worker: {{}}}}\n  podTemplate: {{spec: {{containers: [{container}]}}}}\n"
    )
    (problem,) = [problem for problem in check(job, "job.yaml").problems if problem.rule == "pod-security"]
    assert 'the capability {"a": "b"}' in problem.message


@pytest.mark.parametrize("written", ["", "\n  "])
def test_the_data_of_a_secret_is_decoded(written: str) -> None:
    encoded = base64.b64encode(ADDRESS.encode()).decode()
    data = f"data: {{url: '{encoded[:8]}{written}{encoded[8:]}', plain: {ADDRESS}, other: YWJj}}"
    job = f"{JOB}  objects: {{db: {{apiVersion: v1, kind: Secret, {data}}}}}\n"
    found = [(problem.rule, problem.message.split()[0]) for problem in check(job, "job.yaml").problems]
    assert found == [("credential", "objects.db.data.url"), ("credential", "objects.db.data.plain")]
