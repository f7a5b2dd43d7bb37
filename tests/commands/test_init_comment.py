"""The comment with the changes of a pull request: bash runs the steps that `tfgen init --repo` writes.

The client of the forge is a program that records its calls.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command
from tests.support.repository import tfgen

CLIENT = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
body = next((word.partition("@")[2] for word in words if word.startswith("body")), None)
with open(os.environ["CALLS"], "a") as calls:
    print(json.dumps([words[-1] if "PUT" in words or body is None else words, body and open(body).read()]), file=calls)
if body is None:
    print('{{"id": 7}}' if words[-1].endswith("/user") else os.environ["LISTED"])
"""
NOTES = "https://git.example.com/api/v4/projects/7/merge_requests/5/notes"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a new repository the current folder."""
    monkeypatch.chdir(tmp_path)
    Command(("git", "init", "--quiet", "--initial-branch=main"), cwd=tmp_path).run()
    return tmp_path


def change_job(ci: str) -> None:
    tfgen("init", "mnist", "--repo", "--ci", ci)
    tfgen("commit", "jobs")
    tfgen("set", "jobs/mnist/job.yaml", "image=registry.example.com/ml/mnist:2.0.0")


def run_step(step: str, folder: Path, client: str, listed: str, variables: dict[str, str]) -> str:
    """Run a step with a client that lists some comments, and return the calls of the client."""
    programs = folder / ".git" / "programs"
    programs.mkdir(exist_ok=True)
    path = programs / client
    path.write_text(CLIENT.format(python=sys.executable), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    calls = folder / ".git" / "calls"
    calls.unlink(missing_ok=True)
    search = os.pathsep.join((str(programs), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": search, "CALLS": str(calls), "LISTED": listed, "AGAINST": "HEAD", **variables}
    Command(("bash", "-e", "-c", step), cwd=folder, env={**os.environ, **environment}).run()
    return calls.read_text(encoding="utf-8")


def test_a_pull_request_has_one_comment(repository: Path) -> None:
    change_job("github")
    workflow = yaml.safe_load(Path(".github/workflows/tfgen.yaml").read_text(encoding="utf-8"))
    (step,) = (step["run"] for step in workflow["jobs"]["check"]["steps"] if step.get("name", "").startswith("Show"))
    variables = {"COMMENTS": "repos/ads/jobs/issues/5/comments", "RUNNER_TEMP": str(repository / ".git")}
    for listed, call in (
        ("", '["api", "--silent", "repos/ads/jobs/issues/5/comments", "--field", "body=@'),
        ("42", '["api", "--silent", "--method", "PATCH", "repos/ads/jobs/issues/comments/42", "--field", "body=@'),
    ):
        listing, writing = run_step(step, repository, "gh", listed, variables).splitlines()
        assert '"body' not in listing
        assert '.user.login == "github-actions[bot]"' in step
        assert writing.startswith(f"[{call}")
        assert "<!-- tfgen diff -->" in writing
        assert "mnist" in writing


def note(number: int, body: str, author: int = 7) -> str:
    return json.dumps({"id": number, "body": body, "author": {"id": author}})


def test_a_merge_request_has_one_comment(repository: Path) -> None:
    change_job("gitlab")
    script = yaml.safe_load(Path(".gitlab-ci.yml").read_text(encoding="utf-8"))["tfgen"]["script"]
    (step,) = (step for step in script if "TFGEN_TOKEN" in step)
    step = step.replace("/tmp/", f"{repository}/.git/")
    variables = {
        "TFGEN_TOKEN": "token",
        "CI_API_V4_URL": "https://git.example.com/api/v4",
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_IID": "5",
    }
    for listed, address in (
        ("[]", NOTES),
        (f"[{note(2, '<!-- tfgen diff -->', author=8)}]", NOTES),
        (
            f"[{note(2, '<!-- tfgen diff -->', author=8)}, {note(3, 'text')}, {note(42, '<!-- tfgen diff -->')}]",
            f"{NOTES}/42",
        ),
    ):
        user, listing, writing = run_step(step, repository, "curl", listed, variables).splitlines()
        assert "https://git.example.com/api/v4/user" in user
        assert f"{NOTES}?per_page=100&sort=asc" in listing
        assert f'"{address}"' in writing
        assert "<!-- tfgen diff -->" in writing


def test_without_a_token_a_merge_request_has_no_comment(repository: Path) -> None:
    change_job("gitlab")
    script = yaml.safe_load(Path(".gitlab-ci.yml").read_text(encoding="utf-8"))["tfgen"]["script"]
    (step,) = (step for step in script if "TFGEN_TOKEN" in step)
    Command(("bash", "-e", "-c", step), cwd=repository, env={"PATH": os.environ["PATH"]}).run()


def test_a_name_in_a_job_notifies_nobody(repository: Path) -> None:
    """GitHub and GitLab notify a person whose name follows an @, except in code."""
    change_job("github")
    tfgen("set", "jobs/mnist/job.yaml", f"image=registry.ml.internal/mnist@sha256:{'0' * 64}")
    text, _, code = tfgen("diff", "jobs", "--format", "markdown").out.partition("<details>")
    assert "mnist@&#8203;sha256:0" in text
    assert "@sha256" not in text
    assert "mnist@sha256:0" in code
