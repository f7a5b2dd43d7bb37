"""A repository for the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import JOB, commit_all, copy_repository


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the job file in a repository with a committed job, which becomes the current folder."""
    copy_repository(_committed_job, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "job.yaml"


def _committed_job() -> None:
    Path("job.yaml").write_text(JOB, encoding="utf-8")
    commit_all()
