"""Tests of the admission policies that tfgen.yaml names: each folder of tests/check/admission is a case.

expected.out contains the problems of the case. tests/e2e/server/test_admission.py compares the results of tfgen with
the results of the API server.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checked_repository import commit, git
from tfgen import cli

FOLDER = Path(__file__).parent / "admission"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())


TEAM = "{apiVersion: tfgen/v1alpha1, kind: Defaults, policies: policies}"
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with jobs of five and six replicas, and a policy of at most five replicas per Deployment."""
    shutil.copytree(FOLDER / "replicas", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_job_has_what_the_policies_say(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(case, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    cli.run(["check", "jobs", "--no-files"])
    assert capsys.readouterr().out == (case / "expected.out").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [["render"], ["render", "--stdout"], ["check", "--no-files"]])
def test_each_command_judges_alike(repository: Path, capsys: Printed, command: list[str]) -> None:
    verdict = (FOLDER / "replicas" / "expected.out").read_text(encoding="utf-8")
    assert cli.run([*command, "jobs"]) == cli.PROBLEMS
    printed = capsys.readouterr()
    assert verdict in printed.out + printed.err
    assert not (repository / "charts").exists()
    assert cli.run([*command, "jobs/yes.yaml"]) == cli.OK


def test_policies_without_what_evaluates_them_stop_each_command(
    repository: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for command in (["render"], ["render", "--stdout"], ["check", "--no-files"]):
        assert cli.run([*command, "jobs"]) == cli.FAILED
        assert "pip install cel-expr-python google-re2" in capsys.readouterr().err
    assert not (repository / "charts").exists()


def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


def no_file(_: pytest.MonkeyPatch) -> None:
    os.mkfifo("policies/pipe.yaml")


@pytest.mark.parametrize(("lack", "code"), [(no_library, cli.FAILED), (no_file, cli.FAILED)])
def test_only_a_job_that_is_rendered_needs_what_evaluates_its_policies(
    repository: Path,
    capsys: Printed,
    monkeypatch: pytest.MonkeyPatch,
    lack: Callable[[pytest.MonkeyPatch], None],
    code: int,
) -> None:
    git("init", "--quiet", "--initial-branch=main")
    Path("jobs/no.yaml").unlink()
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    lack(monkeypatch)
    assert cli.run(["check", "jobs", "--changed"]) == cli.OK
    job = Path("jobs/yes.yaml")
    job.write_text(job.read_text(encoding="utf-8").replace("replicas: 2", "replicas: 3"), encoding="utf-8")
    for command in ("render", "check", "commit"):
        assert cli.run([command, "jobs"]) == code
    job.write_text(job.read_text(encoding="utf-8").replace("replicas: 3", "replica: 3"), encoding="utf-8")
    for command in ("render", "check", "commit"):
        capsys.readouterr()
        assert cli.run([command, "jobs"]) == cli.PROBLEMS
        printed = capsys.readouterr()
        assert 'jobs/yes.yaml:6:39: unknown key "replica"' in printed.out + printed.err


@pytest.mark.parametrize("wrong", ["yes", "no"])
def test_render_says_what_is_wrong_with_a_job_before_what_another_lacks(
    repository: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    job = Path(f"jobs/{wrong}.yaml")
    job.write_text(job.read_text(encoding="utf-8").replace("replicas: 2", "replica: 2"), encoding="utf-8")
    no_library(monkeypatch)
    assert cli.run(["render", "jobs"]) == cli.PROBLEMS
    assert f"{job}:6:39: unknown key" in capsys.readouterr().err


def test_a_comment_ignores_a_warning_of_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    shutil.copytree(FOLDER / "warn-and-audit", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    job = Path("jobs/no.yaml")
    text = job.read_text(encoding="utf-8")
    ignored = text.replace("{replicas: 3}", "{replicas: 3}  # tfgen: ignore policy-warning three are few")
    job.write_text(ignored, encoding="utf-8")
    assert cli.run(["check", "jobs", "--no-files"]) == cli.OK
    assert capsys.readouterr().out == ""


def test_a_team_adds_policies_and_loosens_none(repository: Path, capsys: Printed) -> None:
    """A copy of a policy in the team's folder is an error, and does not loosen the policy of the repository."""
    Path("jobs/tfgen.yaml").write_text(TEAM, encoding="utf-8")
    Path("jobs/policies").mkdir()
    theirs = Path("policies/policy.yaml").read_text(encoding="utf-8").replace("<= 5", "<= 50")
    Path("jobs/policies/policy.yaml").write_text(theirs, encoding="utf-8")
    assert cli.run(["check", "jobs", "--no-files"]) == cli.PROBLEMS
    assert [line for line in capsys.readouterr().out.splitlines() if "-web:" not in line] == [
        "jobs/policies/policy.yaml:4:18: ValidatingAdmissionPolicy replicas.example.com is already at "
        "policies/policy.yaml:4:18; remove one of the manifests [guard-rail]",
        "jobs/policies/policy.yaml:14:18: ValidatingAdmissionPolicyBinding replicas.example.com is already at "
        "policies/policy.yaml:14:18; remove one of the manifests [guard-rail]",
    ]


WRONG = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas.example.com}
spec:
  matchConstraints: {resourceRules: []}
  validation:
  - expression: object.spec.replicas <= 5
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas.example.com}
spec: {policyName: replicas.example.com, validationActions: [Deny]}
---
- 1
"""


def test_what_is_wrong_with_a_policy_comes_at_once(repository: Path, capsys: Printed) -> None:
    Path("policies/policy.yaml").write_text(WRONG, encoding="utf-8")
    assert cli.run(["check", "jobs/yes.yaml", "--no-files"]) == cli.PROBLEMS
    assert capsys.readouterr().out.splitlines() == [
        "policies/policy.yaml:4:1: spec: Additional properties are not allowed ('validation' was unexpected) "
        "[guard-rail]",
        "policies/policy.yaml:4:1: spec: expected validations or auditAnnotations [guard-rail]",
        'policies/policy.yaml:9:13: apiVersion: found "admissionregistration.k8s.io/v1beta1", expected '
        "admissionregistration.k8s.io/v1 [guard-rail]",
        "policies/policy.yaml:14:1: expected a Kubernetes object, with apiVersion, kind and metadata.name [guard-rail]",
    ]


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ("missing", "the folder missing does not exist; create the folder, or correct policies [guard-rail]"),
        ("empty", "the folder empty has no policy; add a ValidatingAdmissionPolicy [guard-rail]"),
        ("../policies", "expected a subfolder of the folder of this file, such as policies [wrong-format]"),
        ("/etc", "expected a subfolder of the folder of this file, such as policies [wrong-format]"),
    ],
)
def test_the_folder_is_one_below_the_defaults(repository: Path, capsys: Printed, policies: str, message: str) -> None:
    Path("empty").mkdir()
    Path("tfgen.yaml").write_text(TEAM.replace("policies}", f"{policies}}}"), encoding="utf-8")
    assert cli.run(["check", "jobs/yes.yaml", "--no-files"]) == cli.PROBLEMS
    assert capsys.readouterr().out.rstrip().endswith(message)


def test_a_link_out_of_the_folder_is_not_read(
    repository: Path, capsys: Printed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
    secret.write_text("password: 1", encoding="utf-8")
    Path("policies/link.yaml").symlink_to(secret)
    assert cli.run(["check", "jobs/yes.yaml", "--no-files"]) == cli.PROBLEMS
    printed = capsys.readouterr().out
    assert printed == (
        "tfgen.yaml:3:11: the symbolic link policies/link.yaml points outside the folder of the tfgen.yaml; "
        "replace the link by the file [guard-rail]\n"
    )


def test_a_job_is_checked_again_where_a_policy_changed(repository: Path, capsys: Printed) -> None:
    git("init", "--quiet", "--initial-branch=main")
    Path("jobs/no.yaml").unlink()
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    assert cli.run(["check", "jobs", "--changed"]) == cli.OK
    policy = Path("policies/policy.yaml")
    policy.write_text(policy.read_text(encoding="utf-8").replace("<= 5", "<= 4"), encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["check", "jobs", "--changed"]) == cli.PROBLEMS
    assert "[policy-denied]" in capsys.readouterr().out
