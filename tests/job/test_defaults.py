"""Tests of a job with a team's defaults: the merged spec, and the origin of each value and of each problem."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from derived_schemas import defaults as defaults_schema
from tests.support.draws import drawn
from tests.support.generated import jobs
from tests.support.repository import commit_all, git, tfgen
from tfgen import cli
from tfgen.check.checked import CheckedJobs
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects
from tfgen.job.facts import as_table, origins
from tfgen.job.sources import Source, names_registry
from tfgen.report.problems import as_text
from tfgen.schema import file as schema_file
from tfgen.text.yaml_text import dump

IMAGE = "registry.example.com/ml/mnist:1.4.0"
ROLES = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}


def checked(team: str, spec: dict[str, Any], extra: str = "") -> CheckedJobs:
    """Check a job with a spec and with the defaults `team`."""
    job = {"apiVersion": "tfgen/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": spec}
    head = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
    return check(json.dumps(job), "job.yaml", Source("tfgen.yaml", head + dedent(team) + extra))


def merged(team: str, **spec: Any) -> Any:
    """Return the merged spec, without the image and the roles that every job here has."""
    found = checked(f"spec:\n{indent(dedent(team), '  ')}", {"image": IMAGE, "roles": ROLES, **spec})
    assert as_text(found.problems) == ""
    (document,) = found.documents
    return {key: value for key, value in document.data["spec"].items() if key not in ("image", "roles")}


MERGES = [
    pytest.param("retries: 3", {}, {"retries": 3}, id="what the job does not say"),
    pytest.param("retries: 3", {"retries": 4}, {"retries": 4}, id="the job wins"),
    pytest.param("env: {A: a, B: b}", {"env": {"B": "c"}}, {"env": {"A": "a", "B": "c"}}, id="maps merge"),
    pytest.param("args: [a, b]", {"args": ["c"]}, {"args": ["c"]}, id="lists are replaced"),
    pytest.param("env: {A: a, B: b}", {"env": {"A": None}}, {"env": {"B": "b"}}, id="null removes"),
    pytest.param("gang: {scheduler: volcano}", {}, {"gang": {"scheduler": "volcano"}}, id="a whole section"),
    pytest.param("gang: {scheduler: volcano}", {"gang": None}, {}, id="null removes a section"),
    pytest.param("gang: {queue: research}", {}, {}, id="half a section is nothing by itself"),
    pytest.param(
        "gang: {queue: research}",
        {"gang": {"scheduler": "volcano"}},
        {"gang": {"scheduler": "volcano", "queue": "research"}},
        id="and completes the job's",
    ),
    pytest.param("storage: {data: {readOnly: true}}", {}, {"storage": {}}, id="half an entry of a map"),
    pytest.param(
        "storage: {data: {readOnly: true, claim: {name: a}}}",
        {"storage": {"data": {"mountPath": "/data"}}},
        {"storage": {"data": {"mountPath": "/data", "readOnly": True, "claim": {"name": "a"}}}},
        id="an entry that the job completes",
    ),
    pytest.param(
        "storage: {data: {mountPath: /data, claim: {name: a}}}",
        {"storage": {"data": {"emptyDir": {}}}},
        {"storage": {"data": {"mountPath": "/data", "emptyDir": {}}}},
        id="another source takes the place of the default's",
    ),
    pytest.param("environments: {dev: {}}", {}, {"environments": {"dev": {}}}, id="an environment"),
    pytest.param("environments: {dev: {}}", {"environments": {"dev": None}}, {"environments": {}}, id="one less"),
    pytest.param(
        "environments: {dev: {gang: {enabled: false}, retries: 1}}",
        {},
        {"environments": {"dev": {"retries": 1}}},
        id="an environment's default for a section that the job has not",
    ),
    pytest.param(
        "environments: {dev: {roles: {evaluator: {args: [a]}, worker: {replicas: 1}}}}",
        {"environments": {"dev": {"retries": 1}}},
        {"environments": {"dev": {"retries": 1, "roles": {"worker": {"replicas": 1}}}}},
        id="an environment's default for a role that the job has not",
    ),
    pytest.param(
        "env: {A: a}\nenvironments: {dev: {env: {B: b}}}",
        {"environments": {"dev": {"env": {"A": None}}}},
        {"env": {"A": "a"}, "environments": {"dev": {"env": {"B": "b", "A": None}}}},
        id="a null of an environment removes the job's, as ever",
    ),
]


@pytest.mark.parametrize(("team", "spec", "expected"), MERGES)
def test_a_job_is_merged_over_the_defaults(team: str, spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merged(team, **spec) == expected


@pytest.mark.parametrize(
    ("image", "has"),
    [
        ("mnist:1.4.0", False),
        ("vision/mnist:1.4.0", False),
        ("registry.example.com/mnist", True),
        ("registry:5000/mnist", True),
        ("localhost/mnist", True),
        ("mnist:5000", False),
    ],
)
def test_a_registry_is_a_host_before_the_first_slash(image: str, has: bool) -> None:
    assert names_registry(image) is has


def test_every_image_without_a_registry_gets_the_teams() -> None:
    spec = {
        "image": "mnist:1.4.0",
        "roles": {**ROLES, "ps": {"image": "docker.io/ps:1"}, "worker": {"image": "gpu/mnist:1.4.0"}},
        "tensorboard": {"logDir": "/logs", "image": "board:1"},
        "completion": {"image": "python:3.12"},
        "environments": {"dev": {"image": "mnist:1.5.0"}},
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "sidecars": [{"name": "log", "image": "docker.io/log:1"}],
        "podTemplate": {"spec": {"initContainers": [{"name": "kept", "image": "kept:1"}]}},
    }
    spec["roles"]["chief"] = {"sidecars": [{"name": "metrics", "image": "metrics:1"}]}
    found = checked("registry: registry.example.com/ml\n", spec)
    data = found.documents[0].data
    images = {
        container["image"]
        for environment in (None, "dev")
        for item in plain_objects(data, environment)
        for key in ("containers", "initContainers")
        for container in item.get("spec", {}).get("template", {}).get("spec", {}).get(key, ())
    }
    ours = {"mnist:1.4.0", "mnist:1.5.0", "gpu/mnist:1.4.0", "board:1", "python:3.12", "fetch:1", "metrics:1"}
    assert images == {
        "docker.io/ps:1",
        "docker.io/log:1",
        "kept:1",
        *(f"registry.example.com/ml/{name}" for name in ours),
    }


def test_each_problem_stands_at_its_own_file() -> None:
    team = """\
        registry: registry.example.com/ml/
        spec:
          run: "2"
          tolerations: [{key: gpu, operatr: Exists}]
          environments: {dev: {run: "2"}}
        """
    # No problem reports the missing image, which a default could set, or the null, which may remove a default.
    spec = {"retries": "3", "env": {"A": None}, "roles": {"wroker": {}}}
    assert as_text(checked(team, spec).problems) == dedent(
        """\
        job.yaml:1:108: spec.retries: found the text "3", expected an integer from 0 to 1000; \
write it without quotes [wrong-type]
        job.yaml:1:143: unknown key "wroker" in spec.roles; did you mean "worker"? \
(allowed: chief, evaluator, ps, worker) [unknown-key]
        tfgen.yaml:3:11: registry: found "registry.example.com/ml/", expected a host with optional folders, such as \
registry.example.com/ml, without a "/" at the end [wrong-format]
        tfgen.yaml:5:3: unknown key "run" in spec; only a job file can set this key, \
in spec or in an environment; move the key [unknown-key]
        tfgen.yaml:6:28: unknown key "operatr" in spec.tolerations[0]; did you mean "operator"? \
(allowed: effect, key, operator, tolerationSeconds, value) [unknown-key]
        tfgen.yaml:7:24: unknown key "run" in spec.environments.dev; \
only a job file can set this key of an environment [unknown-key]
        """
    )


def test_what_a_default_does_to_a_job_is_said_at_the_default() -> None:
    team = """\
        spec:
          gang: {scheduler: volcano, minAvailable: 9}
          environments:
            dev: {gang: {minAvailable: 12}}
        """
    problems = as_text(checked(team, {"image": IMAGE, "roles": ROLES}).problems)
    assert [line.partition(": ")[0] for line in problems.splitlines()] == ["tfgen.yaml:4:44", "tfgen.yaml:6:32"]
    assert "[gang-min-available]" in problems


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("---\nkind: Defaults\n", "a tfgen.yaml has only one document; move the content into the first document"),
        ("kind: Other\n", 'the key "kind" is already at line 2; remove one of the two keys'),
    ],
)
def test_the_defaults_are_one_document(extra: str, message: str) -> None:
    (problem,) = checked("", {"image": IMAGE, "roles": ROLES}, extra).problems
    assert problem.file == "tfgen.yaml"
    assert problem.message == message


def test_the_file_is_no_job() -> None:
    (problem,) = check("{}", "job.yaml", Source("tfgen.yaml", "kind: TrainingJob")).problems
    assert (problem.file, problem.rule) == ("tfgen.yaml", "wrong-kind")


def test_origin_of_every_value() -> None:
    team = """\
        registry: registry.example.com/ml
        spec:
          gang: {queue: research}
          environments: {dev: {retries: 1}}
        """
    spec = {"image": "mnist:1.4.0", "roles": {"worker": {}}, "strategy": "Single", "gang": {"scheduler": "volcano"}}
    (document,) = checked(team, spec).documents
    table = as_table(origins(document, "dev"))
    rows = {line.split()[0]: line.split("  ")[-1].strip() for line in table.splitlines()}
    assert rows["spec.image"] == "job.yaml:1:106, registry of tfgen.yaml:3:11"
    assert rows["spec.gang.queue"] == "tfgen.yaml:5:17"
    assert rows["spec.retries"] == "tfgen.yaml:6:33"
    assert rows["spec.gang.scheduler"].startswith("job.yaml:1:")
    assert rows["spec.gang.enabled"] == "default"


def test_the_published_schema_is_made_from_the_jobs() -> None:
    """After a change of the job schema, run `make schema`."""
    assert schema_file.text(schema_file.DEFAULTS) == defaults_schema.text(schema_file.load())
    jsonschema.Draft7Validator.check_schema(schema_file.load(schema_file.DEFAULTS))


@pytest.mark.long
@drawn(8)
@given(jobs(), st.data())
def test_what_a_job_says_can_be_a_default(job: dict[str, Any], data: st.DataObject) -> None:
    """A job without errors stays the same after the move of any of its keys to the defaults."""
    spec = {key: value for key, value in job["spec"].items() if key != "environments"}
    movable = sorted(set(spec) - set(defaults_schema.OF_ONE_JOB))
    moved = data.draw(st.sets(st.sampled_from(movable)) if movable else st.just(set()))
    team = {"apiVersion": job["apiVersion"], "kind": "Defaults", "spec": {key: spec[key] for key in sorted(moved)}}
    rest = {**job, "spec": {key: value for key, value in spec.items() if key not in moved}}
    found = check(dump(rest), "job.yaml", Source("tfgen.yaml", dump(team)))
    plain = check(dump({**job, "spec": spec}), "job.yaml")
    # The problems are in the order of their lines, which are in two files after the move.
    messages, expected = ([problem.message for problem in each.problems] for each in (found, plain))
    assert sorted(messages) == sorted(expected)
    assert found.documents[0].data == plain.documents[0].data


# -- on disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of `tfgen init --repo` in the current folder, without example hosts."""
    monkeypatch.chdir(tmp_path)
    tfgen("init", "mnist", "--repo")
    for path in (tmp_path / "tfgen.yaml", tmp_path / ".github/workflows/tfgen.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("example.com", "ml.internal"), encoding="utf-8")
    return tmp_path


def test_a_new_repository_renders_and_checks_clean(repo: Path) -> None:
    tfgen("render", "jobs")
    assert tfgen("check", ".").err == "0 errors, 0 warnings; 0 jobs compared with HEAD\n"
    assert (repo / "overlays" / "mnist" / "prod" / "kustomization.yaml").is_file()
    tfgen("init", "mnist", "--repo", code=cli.USAGE)


def test_the_workflow_of_a_new_repository_asks_for_kubernetes_schemas_and_installs_them(repo: Path) -> None:
    workflow = yaml.load((repo / ".github" / "workflows" / "tfgen.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)
    work = workflow["jobs"]["check"]
    install, check, *_ = (step["run"] for step in work["steps"] if "run" in step)
    assert install == 'pip install "$TFGEN"'
    assert work["env"]["TFGEN"].startswith("tfgen-charts[kubernetes]")
    command = check.splitlines()[-1]
    tfgen("render", "jobs")
    git("init", "--quiet", "--initial-branch=main")
    commit_all()
    words = shlex.split(command.replace("$AGAINST", "HEAD"))
    version = work["env"]["KUBERNETES"]
    printed = tfgen(*([version if word == "$KUBERNETES" else word for word in words[1:]])).err
    assert printed.endswith("0 errors, 0 warnings; 1 job compared with HEAD; read the commit HEAD\n")


def test_a_job_has_the_nearest_defaults_up_to_the_repositorys_root(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo / "jobs" / "mnist")
    assert "../../tfgen.yaml:" in tfgen("explain", "job.yaml", "--origin").out
    tfgen("render", "job.yaml")
    assert (repo / "charts" / "mnist" / "Chart.yaml").is_file()
    (repo / "jobs" / ".git").mkdir()
    printed = tfgen("explain", str(repo / "jobs" / "mnist" / "job.yaml"), "--origin", "--format", "json").out
    assert "tfgen.yaml" not in printed.partition("{")[2]


def test_a_rerun_of_an_environment_of_the_teams_is_said_in_the_job(repo: Path) -> None:
    team, job = repo / "tfgen.yaml", repo / "jobs" / "mnist" / "job.yaml"
    said = team.read_text(encoding="utf-8")
    team.write_text(said.replace("    prod:", "    canary: {namespace: ml-canary}\n    prod:"), encoding="utf-8")
    before, text = team.read_bytes(), job.read_text(encoding="utf-8")
    job.write_text(text[: text.index("  # Differences of each environment")], encoding="utf-8")
    tfgen("rerun", str(job), "--env", "canary")
    assert '  environments: {canary: {run: "2"}}\n' in job.read_text(encoding="utf-8")
    tfgen("rerun", str(job), "--env", "canary")
    assert '  environments: {canary: {run: "3"}}\n' in job.read_text(encoding="utf-8")
    assert team.read_bytes() == before
