"""The site of a repository, as `tfgen site` writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.command import Command
from tfgen import cli

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: NAME, namespace: ml}
spec:
  image: registry.example.com/ml/NAME:1
  labels: {example.com/team: vision}
  command: [python, /opt/train.py]
  gang: {scheduler: volcano, queue: research}
  storage: {model: {mountPath: /model, claim: {size: 20Gi}}}
  roles:
    chief: {resources: {cpu: 2, memory: 4Gi}}
    ps: {resources: {cpu: 1, memory: 2Gi}}
    worker: {replicas: 2, resources: {cpu: 4, memory: 8Gi, gpu: {count: 1, product: NVIDIA-A100}}}
  environments:
    dev: {gang: {enabled: false}, roles: {worker: {replicas: 1}}}
    prod: {namespace: ml-prod, roles: {worker: {replicas: 8}}}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two committed jobs; one is edited after the commit."""
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for name in ("alpha", "beta"):
        job = tmp_path / "jobs" / name / "job.yaml"
        job.parent.mkdir(parents=True)
        job.write_text(JOB.replace("NAME", name), encoding="utf-8")
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message=x")):
        Command(("git", *arguments), cwd=tmp_path).run()
    job.write_text(job.read_text().replace("replicas: 8", "replicas: 6"), encoding="utf-8")
    return tmp_path


def rows(page: str) -> list[list[str]]:
    """Return the texts of the cells of each table row."""
    return [
        [" ".join(re.sub("<.*?>", "", cell).split()) for cell in re.findall(r"<t[dh][ >].*?</t[dh]>", row, re.DOTALL)]
        for row in re.findall("<tr.*?</tr>", page, re.DOTALL)
    ]


def test_the_index_lists_each_environment(repository: Path) -> None:
    assert cli.run(["site", "--out", "public", "--title", "research"]) == 0
    table = rows((repository / "public/index.html").read_text())
    header, *lines = table[:5]
    assert header[:6] == ["Job", "Environment", "Team", "Queue", "Cluster", "Namespace"]
    # Chief, ps, workers and the finisher, whose requests are 0.1 CPU and 128Mi.
    assert [line[:11] for line in lines] == [
        ["alpha", "dev", "vision", "", "", "ml", "4", "7.1", "14.12Gi", "1 NVIDIA-A100", "20Gi"],
        ["alpha", "prod", "vision", "research", "", "ml-prod", "11", "35.1", "70.12Gi", "8 NVIDIA-A100", "20Gi"],
        ["beta", "dev", "vision", "", "", "ml", "4", "7.1", "14.12Gi", "1 NVIDIA-A100", "20Gi"],
        ["beta", "prod", "vision", "research", "", "ml-prod", "9", "27.1", "54.12Gi", "6 NVIDIA-A100", "20Gi"],
    ]
    assert [line[-1] for line in lines][2:] == ["not committed", "not committed"]


def test_the_page_of_a_job(repository: Path) -> None:
    assert cli.run(["site", "--out", "public"]) == 0
    page = (repository / "public/jobs/beta.html").read_text()
    assert "<li>spec.environments.prod.roles.worker.replicas was 8 and is 6</li>" in page
    assert "<li>the job is new</li>" in page
    assert "StatefulSet beta-worker" in page
    assert "jobs/beta/job.yaml:6:" in page  # the origin of a value
    assert (repository / "public/jobs/beta.svg").read_text().startswith("<svg")


def test_a_job_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB.replace("NAME", "alone"), encoding="utf-8")
    assert cli.run(["site", "job.yaml", "--out", "public"]) == 0
    assert [line[-1] for line in rows(Path("public/index.html").read_text())[1:3]] == ["", ""]
    assert "No commit contains the job." in Path("public/jobs/alone.html").read_text()


def test_pages_load_nothing_from_a_server(repository: Path) -> None:
    assert cli.run(["site", "--out", "public"]) == 0
    for path in (repository / "public").rglob("*"):
        if path.suffix in (".html", ".css"):
            assert re.findall(r"""(?:src|href)=["'](?:https?:)?//|@import|url\(""", path.read_text()) == []


def test_text_of_a_job_is_not_markup(repository: Path) -> None:
    job = repository / "jobs/alpha/job.yaml"
    job.write_text(job.read_text() + "  env: {MARK: '<script>alert(1)</script>'}\n", encoding="utf-8")
    assert cli.run(["site", "--out", "public"]) == 0
    page = (repository / "public/jobs/alpha.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_problems_are_reported_and_nothing_is_written(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = repository / "jobs/alpha/job.yaml"
    job.write_text(job.read_text().replace("replicas: 2", "replica: 2"), encoding="utf-8")
    assert cli.run(["site", "--out", "public"]) == 1
    assert 'jobs/alpha/job.yaml:13:14: unknown key "replica"' in capsys.readouterr().err
    assert not (repository / "public").exists()
