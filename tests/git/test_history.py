"""Tests of the commits that changed some files, in real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.command import Command
from tfgen.git.history import all_contents, histories


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository without a commit."""
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T23:30:00-0500")
    git(tmp_path, "init", "--quiet")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    return Command(("git", *arguments), cwd=folder).run()


def commit(folder: Path, files: dict[str, str | None]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True) if text is None else path.write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=x")
    return git(folder, "rev-parse", "HEAD").strip()


def test_revisions_of_several_files(repository: Path) -> None:
    first = commit(repository, {"a/job.yaml": "one", "ä b.yaml": "old"})
    second = commit(repository, {"a/job.yaml": "two"})
    commit(repository, {"unrelated": "text"})
    last = commit(repository, {"ä b.yaml": None})
    paths = [repository / "a/job.yaml", repository / "ä b.yaml", repository / "new.yaml"]
    job, removed, new = histories(paths, 10).values()
    assert [(item.commit, item.content) for item in job] == [(second, b"two"), (first, b"one")]
    assert [(item.commit, item.content) for item in removed] == [(last, None), (first, b"old")]
    assert new == ()
    assert {item.date for item in job} == {"2026-03-01"}


def test_at_most_some_revisions_of_each_file(repository: Path) -> None:
    commits = [commit(repository, {"job.yaml": str(number)}) for number in range(4)]
    (revisions,) = histories([repository / "job.yaml"], 2).values()
    assert [item.commit for item in revisions] == [commits[3], commits[2]]


def test_a_file_outside_of_git_has_no_revisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert histories([tmp_path / "job.yaml"], 10) == {tmp_path / "job.yaml": ()}


def test_the_revisions_since_a_commit_are_those_of_the_branch(repository: Path) -> None:
    first = commit(repository, {"job.yaml": "one"})
    branch = git(repository, "branch", "--show-current").strip()
    git(repository, "checkout", "--quiet", "-b", "topic")
    commit(repository, {"job.yaml": "draft"})
    commit(repository, {"job.yaml": "done"})
    git(repository, "checkout", "--quiet", branch)
    git(repository, "merge", "--quiet", "--no-ff", "--message=x", "topic")
    commit(repository, {"job.yaml": "last"})
    (revisions,) = histories([repository / "job.yaml"], since=first).values()
    assert [item.content for item in revisions] == [b"last", b"done"]


def test_all_contents_of_a_file_that_git_renamed(repository: Path) -> None:
    text = "".join(f"{number}\n" for number in range(20))
    steps = [("a", "1"), ("a", "2"), ("b", "2"), ("b", "3"), ("a", "3"), ("a", "4"), ("c/a", "5")]
    former = "a"
    for name, number in steps:
        commit(repository, {former: None, name: text + number})
        former = name
    commit(repository, {"other": text + "6"})
    contents = {content.decode().removeprefix(text) for content in all_contents(repository / "c/a")}
    assert contents == {"1", "2", "3", "4", "5"}
    assert all_contents(repository / "new") == []


def test_all_contents_outside_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert all_contents(tmp_path / "job.yaml") == []
