"""Tests of several layers: each tfgen.yaml is merged over the tfgen.yaml above, and the job over all layers."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.support.repository import commit_all, git, repository_fixture, tfgen
from tfgen.check.jobs import check
from tfgen.job.facts import as_table, origins
from tfgen.job.sources import Source
from tfgen.report.problems import as_text

HEAD = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: mnist:1
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
"""


def layered(root: str, near: str, job: str = JOB) -> Source:
    """Return a job in jobs/, with a layer in jobs/ and a layer in the folder above."""
    above = Source("tfgen.yaml", HEAD + root)
    return Source("jobs/job.yaml", job, Source("jobs/tfgen.yaml", HEAD + near, above))


def merged(root: str, near: str, job: str) -> Any:
    source = layered(spec_of(root), spec_of(near), JOB + indent(job, "  "))
    checked = check(source.read(), source.file, source.defaults)
    assert as_text(checked.problems) == ""
    spec = checked.documents[0].data["spec"]
    return {key: value for key, value in spec.items() if key not in ("image", "roles")}


def spec_of(text: str) -> str:
    return "spec:\n" + indent(text, "  ") if text else ""


MERGES = [
    pytest.param("retries: 3", "port: 3333", "", {"retries": 3, "port": 3333}, id="both say something"),
    pytest.param("retries: 3", "retries: 4", "", {"retries": 4}, id="the nearer one wins"),
    pytest.param("retries: 3", "retries: 4", "retries: 5", {"retries": 5}, id="the job wins over both"),
    pytest.param("env: {A: a, B: b}", "env: {B: c}", "", {"env": {"A": "a", "B": "c"}}, id="maps merge"),
    pytest.param("args: [a, b]", "args: [c]", "", {"args": ["c"]}, id="lists are replaced"),
    pytest.param("env: {A: a, B: b}", "env: {A: }", "", {"env": {"B": "b"}}, id="null removes"),
    pytest.param("gang: {scheduler: volcano}", "gang:", "", {}, id="null removes a section"),
    pytest.param(
        "gang: {queue: research}",
        "gang: {scheduler: volcano}",
        "",
        {"gang": {"scheduler": "volcano", "queue": "research"}},
        id="two halves are a whole",
    ),
    pytest.param(
        "gang: {queue: research}",
        "retries: 1",
        "gang: {scheduler: volcano}",
        {"retries": 1, "gang": {"scheduler": "volcano", "queue": "research"}},
        id="half a section completes the job's through another layer",
    ),
    pytest.param(
        "storage: {data: {mountPath: /data, claim: {name: a}}}",
        "storage: {data: {emptyDir: {}}}",
        "",
        {"storage": {"data": {"mountPath": "/data", "emptyDir": {}}}},
        id="another source takes the place of the one above",
    ),
    pytest.param(
        "environments: {dev: {retries: 1}, prod: {}}",
        "environments: {dev: {deadline: 60}, prod: }",
        "",
        {"environments": {"dev": {"retries": 1, "deadline": 60}}},
        id="an environment that one says more of, and one that it takes away",
    ),
]


@pytest.mark.parametrize(("root", "near", "job", "expected"), MERGES)
def test_a_nearer_layer_is_merged_over_the_one_above(root: str, near: str, job: str, expected: dict[str, Any]) -> None:
    assert merged(root, near, job) == expected


def test_environments_stand_in_the_order_of_the_job() -> None:
    """Environments of the job come first, in the order of the job, and the environments of tfgen.yaml follow."""
    source = layered(
        "spec: {environments: {zeta: {}, dev: {}, staging: {}}}\n",
        "",
        JOB + "  environments: {prod: {}, staging: {}, dev: {}}\n",
    )
    (document,) = check(source.read(), source.file, source.defaults).documents
    assert [*document.data["spec"]["environments"]] == ["prod", "staging", "dev", "zeta"]


def test_each_value_is_said_by_its_layer() -> None:
    root = dedent(
        """\
        registry: registry.example.com/ml
        spec:
          retries: 3
          nodeSelector: {disk: ssd}
          env: {A: a, B: b}
        """
    )
    near = "spec:\n  nodeSelector: {disk: nvme}\n  env: {B: c}\n  retries:\n"
    source = layered(root, near, JOB + "  env: {C: d}\n")
    (document,) = check(source.read(), source.file, source.defaults).documents
    rows = {line.split()[0]: line.split("  ")[-1].strip() for line in as_table(origins(document)).splitlines()}
    assert {path: rows[path] for path in ("spec.image", "spec.nodeSelector.disk", "spec.retries")} == {
        "spec.image": "jobs/job.yaml:5:10, registry of tfgen.yaml:3:11",
        "spec.nodeSelector.disk": "jobs/tfgen.yaml:4:24",
        "spec.retries": "default",
    }
    assert [rows[f"spec.env.{name}"] for name in "ABC"] == [
        "tfgen.yaml:7:12",
        "jobs/tfgen.yaml:5:12",
        "jobs/job.yaml:7:12",
    ]


def test_the_nearest_registry_counts() -> None:
    source = layered("registry: registry.example.com/ml\n", "registry: registry.example.com/ads\n")
    assert check(source.read(), source.file, source.defaults).documents[0].data["spec"]["image"] == (
        "registry.example.com/ads/mnist:1"
    )


def test_each_problem_stands_in_its_layer_and_each_layer_is_defaults_by_itself() -> None:
    source = Source(
        "jobs/job.yaml",
        JOB.replace("replicas", "replica"),
        Source(
            "jobs/tfgen.yaml",
            "kind: Defaults\nspec: {retrys: 1, gang: }\n",
            Source("tfgen.yaml", HEAD + "spec: {retries: many}\n"),
        ),
    )
    assert as_text(check(source.read(), source.file, source.defaults).problems) == dedent(
        """\
        jobs/job.yaml:6:39: unknown key "replica" in spec.roles.worker; did you mean "replicas"? [unknown-key]
        jobs/tfgen.yaml:1:1: missing key "apiVersion" in the document: Version of this format; \
write apiVersion: tfgen/v1alpha1 [missing-key]
        jobs/tfgen.yaml:2:8: unknown key "retrys" in spec; did you mean "retries"? [unknown-key]
        tfgen.yaml:3:17: spec.retries: found the text "many", expected an integer from 0 to 1000 [wrong-type]
        """
    )


def test_a_null_that_removes_nothing_is_a_mistake() -> None:
    source = layered("spec: {retries: 3}\n", "spec: {gang: }\n")
    (problem,) = check(source.read(), source.file, source.defaults).problems
    assert str(problem.place) == "jobs/tfgen.yaml:3:14"


# -- on disk -----------------------------------------------------------------------------------------------------

ROOT = """\
spec:
  tolerations: [{key: gpu, operator: Exists}]
  environments: {dev: {namespace: ml-dev}, prod: {namespace: ml}}
"""


@repository_fixture()
def repository() -> None:
    """Return the current folder, with a committed job in teams/ads and with a platform's defaults at the root."""
    Path("teams/ads").mkdir(parents=True)
    Path("tfgen.yaml").write_text(HEAD + ROOT, encoding="utf-8")
    Path("teams/ads/job.yaml").write_text(JOB, encoding="utf-8")
    tfgen("render", "teams")
    commit_all()


def test_a_teams_own_defaults_drop_nothing_of_the_platforms(repository: Path) -> None:
    Path("teams/tfgen.yaml").write_text(HEAD + "spec: {labels: {team: ads}}\n", encoding="utf-8")
    (changed,) = json.loads(tfgen("diff", "teams", "--format", "json").out)["jobs"]
    assert [environment["environment"] for environment in changed["environments"]] == ["dev", "prod"]
    fields = {field["path"] for item in changed["environments"][0]["objects"] for field in item["fields"]}
    assert fields == {"metadata.labels.team", "spec.template.metadata.labels.team"}


def test_what_is_committed_is_read_with_its_own_layers(repository: Path) -> None:
    """A new or deleted tfgen.yaml in the work tree does not affect the job of HEAD."""
    Path("teams/tfgen.yaml").write_text(HEAD + "spec: {tolerations: []}\n", encoding="utf-8")
    Path("tfgen.yaml").unlink()
    (changed,) = json.loads(tfgen("diff", "teams", "--format", "json").out)["jobs"]
    states = {e["environment"]: (e["before"] is not None, e["after"] is not None) for e in changed["environments"]}
    assert states == {None: (False, True), "dev": (True, False), "prod": (True, False)}


def test_every_layer_is_committed_with_its_jobs(repository: Path) -> None:
    Path("teams/tfgen.yaml").write_text(HEAD + "spec: {labels: {team: ads}}\n", encoding="utf-8")
    Path("tfgen.yaml").write_text(HEAD + ROOT.replace("gpu", "tpu"), encoding="utf-8")
    Path("teams/ads/job.yaml").write_text(JOB.replace("mnist:1", "mnist:1\n  run: b"), encoding="utf-8")
    tfgen("commit", "teams")
    git("diff", "--exit-code", "HEAD", "--", "tfgen.yaml", "teams/tfgen.yaml")
