"""Tests of the site that `tfgen site` writes for a repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.recorded_run import read_recorded, read_run
from tests.support.repository import tfgen
from tests.support.tools import ROOT
from tfgen import cli
from tfgen.live.api import ApiError
from tfgen.live.run import DeclaredRun
from tfgen.live.run_state import RunState, state_of_run

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
    """Return a repository with two committed jobs. The job `beta` is edited after the commit."""
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
    tfgen("site", "--out", "public", "--title", "research")
    table = rows((repository / "public/index.html").read_text())
    header, *lines = table[:5]
    assert header[:6] == ["Job", "Environment", "Team", "Queue", "Cluster", "Namespace"]
    page = (repository / "public/index.html").read_text()
    assert re.findall(r"<th[^>]* hidden><button>(\w+)<", page) == ["Cluster"]
    # The sums contain the chief, the ps, the workers and the finisher, which requests 0.1 CPU and 128Mi.
    assert [line[:11] for line in lines] == [
        ["alpha", "dev", "vision", "", "", "ml", "4", "7.1", "14.12Gi", "1 NVIDIA-A100", "20Gi"],
        ["alpha", "prod", "vision", "research", "", "ml-prod", "11", "35.1", "70.12Gi", "8 NVIDIA-A100", "20Gi"],
        ["beta", "dev", "vision", "", "", "ml", "4", "7.1", "14.12Gi", "1 NVIDIA-A100", "20Gi"],
        ["beta", "prod", "vision", "research", "", "ml-prod", "9", "27.1", "54.12Gi", "6 NVIDIA-A100", "20Gi"],
    ]
    assert [line[-1].partition(": ")[2] or line[-1] for line in lines] == [*["the job is new"] * 3, "not committed"]


def test_the_page_of_a_job(repository: Path) -> None:
    tfgen("site", "--out", "public")
    page = (repository / "public/jobs/beta.html").read_text()
    assert "<li>spec.environments.prod.roles.worker.replicas was 8 and is 6</li>" in page
    assert "<li>the job is new</li>" in page
    assert "StatefulSet beta-worker" in page
    assert "jobs/beta/job.yaml:6:" in page  # the origin of a value
    assert (repository / "public/jobs/beta.svg").read_text().startswith("<svg")


def test_a_job_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB.replace("NAME", "alone"), encoding="utf-8")
    tfgen("site", "job.yaml", "--out", "public")
    assert [line[-1] for line in rows(Path("public/index.html").read_text())[1:3]] == ["", ""]
    assert "No commit contains the job." in Path("public/jobs/alone.html").read_text()


def test_pages_load_nothing_from_a_server(repository: Path) -> None:
    tfgen("site", "--out", "public")
    for path in (repository / "public").rglob("*"):
        if path.suffix in (".html", ".css"):
            assert re.findall(r"""(?:src|href)=["'](?:https?:)?//|@import|url\(""", path.read_text()) == []


def test_text_of_a_job_is_not_markup(repository: Path) -> None:
    job = repository / "jobs/alpha/job.yaml"
    job.write_text(job.read_text() + "  env: {MARK: '<script>alert(1)</script>'}\n", encoding="utf-8")
    tfgen("site", "--out", "public")
    page = (repository / "public/jobs/alpha.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_job_with_errors_has_a_page_and_a_mark(repository: Path) -> None:
    job = repository / "jobs/alpha/job.yaml"
    job.write_text(job.read_text().replace("replicas: 2", "replica: 2"), encoding="utf-8")
    printed = tfgen("site", "--out", "public", code=1).err
    assert 'jobs/alpha/job.yaml:13:14: unknown key "replica"' in printed
    assert printed.endswith("public/index.html: 2 jobs, 6 files\n")
    index = (repository / "public/index.html").read_text()
    assert "1 job has\nerrors." in index
    assert [row[0] for row in rows(index)[1:4]] == ["alpha", "beta", "beta"]
    assert rows(index)[1][1:] == [*[""] * 10, "1 error", ""]
    page = (repository / "public/jobs/alpha.html").read_text()
    assert '<span class="line">13</span>     worker: {replica: 2, resources:' in page
    assert "unknown key &#34;replica&#34; in spec.roles.worker; did you mean &#34;replicas&#34;?" in page


def test_jobs_with_equal_or_unusable_names_have_separate_pages(repository: Path) -> None:
    (repository / "jobs/copy.yaml").write_text(JOB.replace("NAME", "beta").replace("ps:", "pss:"), encoding="utf-8")
    (repository / "jobs/none.yaml").write_text(f"{JOB}[", encoding="utf-8")
    (repository / "jobs/outside.yaml").write_text(JOB.replace("NAME", "../outside"), encoding="utf-8")
    tfgen("site", "--out", "public", code=1)
    pages = {path.relative_to(repository / "public").as_posix() for path in (repository / "public").rglob("*.html")}
    assert pages == {"index.html", *(f"jobs/{name}.html" for name in ("alpha", "beta", "beta-2", "file", "file-2"))}


def test_the_states_of_the_jobs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the recorded run of tests/live/gpus, one of four workers waits for a GPU."""
    recorded = ROOT / "tests" / "live" / "gpus"
    snapshot, environment, _ = read_recorded(recorded / "cluster.json")
    state = state_of_run(read_run(recorded / "job.yaml", environment), snapshot, "ml")

    def read_states(_: object, runs: Sequence[DeclaredRun]) -> list[RunState]:
        if any(run.environment == "prod" for run in runs):
            raise ApiError(403, "pods is forbidden")
        return [state.replaced(run=run) for run in runs]

    monkeypatch.setattr("tfgen.site.live_states.read_states", read_states)
    tfgen("site", "--live", "--out", "public")
    index = (repository / "public/index.html").read_text()
    reason = "worker-3: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    assert rows(index)[0][-2:] == ["State", "Last change"]
    dev, prod = (row[-2] for row in rows(index)[1:3])
    assert dev.startswith(f"Partial 6/7: {reason}")
    assert prod == "not read"
    assert index.count("current context, namespace ml-prod: pods is forbidden") == 1
    page = (repository / "public/jobs/alpha.html").read_text()
    assert "<dt>State</dt><dd>Partial, 6/7 tasks ready</dd>" in page
    assert f"<dt>Why</dt><dd>{reason}" in page


def test_a_cluster_that_does_not_answer_is_a_note(repository: Path) -> None:
    assert "none.yaml" in tfgen("site", "--live", "--kubeconfig", "none.yaml", "--out", "public").err
    index = (repository / "public/index.html").read_text()
    assert '<ul class="notes"' in index
    assert [row[-2] for row in rows(index)[1:3]] == ["not read", "not read"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--context", "far"], "tfgen: error: --kubeconfig, --context and --namespace need --live\n"),
        (["--nodes", "a.yaml"], "no page of nodes; run tfgen plan --nodes a.yaml --format json\n"),
    ],
)
def test_an_option_without_its_purpose(argv: list[str], message: str, repository: Path) -> None:
    assert tfgen("site", "--out", "public", *argv, code=cli.USAGE).err.endswith(message)
    assert not (repository / "public").exists()
