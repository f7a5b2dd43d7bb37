"""Tests of the commits that changed some files, in real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import commit_files, git
from tfgen.git.history import all_contents, histories


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository without a commit."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T23:30:00-0500")
    git("init", "--quiet", folder=tmp_path)
    return tmp_path


def test_revisions_of_several_files(repository: Path) -> None:
    first = commit_files(repository, {"a/job.yaml": "one", "ä b.yaml": "old"})
    second = commit_files(repository, {"a/job.yaml": "two"})
    commit_files(repository, {"unrelated": "text"})
    last = commit_files(repository, {"ä b.yaml": None})
    paths = [repository / "a/job.yaml", repository / "ä b.yaml", repository / "new.yaml"]
    job, removed, new = histories(paths, 10).values()
    assert [(item.commit, item.content) for item in job] == [(second, b"two"), (first, b"one")]
    assert [(item.commit, item.content) for item in removed] == [(last, None), (first, b"old")]
    assert new == ()
    assert {item.date for item in job} == {"2026-03-01"}


def test_at_most_some_revisions_of_each_file(repository: Path) -> None:
    commits = [commit_files(repository, {"job.yaml": str(number)}) for number in range(4)]
    (revisions,) = histories([repository / "job.yaml"], 2).values()
    assert [item.commit for item in revisions] == [commits[3], commits[2]]


def test_a_file_outside_of_git_has_no_revisions(tmp_path: Path) -> None:
    assert histories([tmp_path / "job.yaml"], 10) == {tmp_path / "job.yaml": ()}


def test_the_revisions_since_a_commit_are_those_of_the_branch(repository: Path) -> None:
    first = commit_files(repository, {"job.yaml": "one"})
    branch = git("branch", "--show-current", folder=repository).strip()
    git("checkout", "--quiet", "-b", "topic", folder=repository)
    commit_files(repository, {"job.yaml": "draft"})
    commit_files(repository, {"job.yaml": "done"})
    git("checkout", "--quiet", branch, folder=repository)
    git("merge", "--quiet", "--no-ff", "--message=x", "topic", folder=repository)
    commit_files(repository, {"job.yaml": "last"})
    (revisions,) = histories([repository / "job.yaml"], since=first).values()
    assert [item.content for item in revisions] == [b"last", b"done"]


def test_all_contents_of_a_file_that_git_renamed(repository: Path) -> None:
    text = "".join(f"{number}\n" for number in range(20))
    steps = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("a", "3"), ("a", "4"), ("c/a", "5")]
    former = "a"
    for name, number in steps:
        commit_files(repository, {former: None, name: text + number})
        former = name
    commit_files(repository, {"other": text + "6"})
    contents = {content.decode().removeprefix(text) for content in all_contents(repository / "c/a")}
    assert contents == {"1", "2", "3", "4", "5"}
    assert all_contents(repository / "new") == []


def test_all_contents_outside_of_git(tmp_path: Path) -> None:
    assert all_contents(tmp_path / "job.yaml") == []
