"""Tests of tfgen import: each case is a folder with a manifest, the imported job.yaml and the report.

    tests/importers/NAME/manifest.yaml    the manifest
    tests/importers/NAME/args             other arguments of `tfgen import` than manifest.yaml
    tests/importers/NAME/stdin.yaml       the standard input, such as live objects
    tests/importers/NAME/chart/           a chart, whose Helm release is the standard input
    tests/importers/NAME/overlays/        overlays that the real kustomize builds
    tests/importers/NAME/job.yaml         the imported jobs; absent if tfgen refuses the manifest
    tests/importers/NAME/report.txt       the report of `--verify`, and then all entries of the report

`pytest tests/importers --golden-update` writes the last two files. Read both files before the commit.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.tools import helm_template, kustomize_program
from tfgen import cli, disk_file
from tfgen.graph import podspec
from tfgen.importers.job_yaml import HARDENING
from tfgen.kubernetes.pods import PROFILES, Profile

CASES = sorted(path for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name != "__pycache__")
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
def test_a_manifest_becomes_a_job(
    case: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    monkeypatch.chdir(case)
    args = case / "args"
    if (case / "overlays").exists():
        monkeypatch.setenv("PATH", f"{kustomize_program().parent}{os.pathsep}{os.environ['PATH']}")
    words = shlex.split(args.read_text()) if args.exists() else ["manifest.yaml"]
    release = stdin.read_bytes() if (stdin := case / "stdin.yaml").exists() else b""
    if (case / "chart").exists():
        release = helm_template(case / "chart", "mnist", "--skip-tests").encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(release)))
    code = cli.run(["import", *words, "--verify"])
    out, err = capsys.readouterr()
    if out:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(release)))
        cli.run(["import", *words, "--format", "json"])
        err += "\n" + "".join(f"{entry_line(entry)}\n" for entry in json.loads(capsys.readouterr().out)["entries"])
    job, report = case / "job.yaml", case / "report.txt"
    if pytestconfig.option.golden_update:
        job.unlink(missing_ok=True)
        if out:
            job.write_text(out)
        report.write_text(err)
    assert code == (cli.OK if job.exists() else cli.PROBLEMS)
    assert out == (job.read_text() if job.exists() else "")
    assert err == report.read_text()


def entry_line(entry: dict[str, Any]) -> str:
    place = f"{entry['line']}:{entry['column']}"
    return f"{place} {entry['outcome']} {entry['source']} -> {entry['target'] or ''}: {entry['why']}"


def test_the_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, job = CASES[0].parent / "tfjob-first" / "manifest.yaml", tmp_path / "jobs" / "mnist.yaml"

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(disk_file.os, "write", fail)
        assert cli.run(["import", str(manifest), "--out", str(job)]) == cli.FAILED
    assert capsys.readouterr().err.endswith(": No space left on device\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert cli.run(["import", str(manifest), "--out", str(job)]) == cli.OK
    text = job.read_text()
    assert cli.run(["import", str(manifest), "--out", str(job)]) == cli.USAGE
    assert (
        "mnist.yaml exists already, and tfgen does not replace files that it did not render" in capsys.readouterr().err
    )
    assert job.read_text() == text


@pytest.mark.parametrize("case", [case for case in CASES if case.name.endswith("-rich")], ids=lambda case: case.name)
def test_its_chart_is_one_for_helm(case: Path, tmp_path: Path) -> None:
    """tests/equal renders the chart of each structure of a job."""
    assert cli.run(["render", str(case / "job.yaml"), "--out", str(tmp_path)]) == cli.OK
    charts = list((tmp_path / "charts").iterdir())
    assert charts
    for chart in charts:
        assert "kind: NetworkPolicy" in helm_template(chart, chart.name, "--skip-tests")


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_gives_the_hardening_that_the_import_omits(profile: Profile) -> None:
    given = {*podspec.pod_context(profile), *podspec.container_context(profile)}
    assert {*HARDENING[profile]} == given & {*HARDENING["restricted"]}
