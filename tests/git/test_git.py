"""Tests of the functions that read from git, in real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import commit_files, git
from tfgen.errors import TfgenError, UsageError
from tfgen.git.command import Git
from tfgen.git.commit import open_repository
from tfgen.git.publish import target
from tfgen.git.tree import HEAD, CommitTree


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository without a commit."""
    folder = tmp_path / "repository"
    git("init", "--quiet", "--initial-branch=main", folder)
    return folder


def committed(path: Path, revision: str = HEAD) -> bytes | None:
    return CommitTree(revision).read(path)


NAMES = ["job.yaml", "-x.yaml", "jobs/deep/job.yaml", "a b.yaml", "ä.yaml", "*.yaml", ":(top)job.yaml", "a:b.yaml"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_what_the_last_commit_has(repository: Path, name: str) -> None:
    commit_files(repository, {"job.yaml": "other", name: "first"})
    commit_files(repository, {name: "second"})
    (repository / name).write_text("dirty", encoding="utf-8")
    git("add", "--all", folder=repository)
    assert committed(repository / name) == b"second"
    assert committed(repository / name, "HEAD~1") == b"first"


def test_the_bytes_are_those_of_git(repository: Path) -> None:
    (repository / "job.yaml").write_bytes(b"a\r\n\xff\0")
    commit_files(repository, {})
    assert committed(repository / "job.yaml") == b"a\r\n\xff\0"


def test_the_folder_of_the_file_counts_and_not_the_current_one(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(repository, {"jobs/job.yaml": "it"})
    monkeypatch.chdir("/")
    assert committed(repository / "jobs" / "job.yaml") == b"it"
    monkeypatch.chdir(repository / "jobs")
    assert committed(Path("job.yaml")) == b"it"
    assert committed(Path("../jobs/job.yaml")) == b"it"


def test_a_link_is_the_file_that_it_names(repository: Path, tmp_path: Path) -> None:
    commit_files(repository, {"job.yaml": "it"})
    (tmp_path / "link.yaml").symlink_to(repository / "job.yaml")
    assert committed(tmp_path / "link.yaml") == b"it"


def test_worktrees_and_submodules(repository: Path, tmp_path: Path) -> None:
    commit_files(repository, {"job.yaml": "main"})
    git("worktree", "add", "--quiet", "-b", "other", tmp_path / "worktree", folder=repository)
    commit_files(tmp_path / "worktree", {"job.yaml": "other"})
    assert committed(tmp_path / "worktree" / "job.yaml") == b"other"
    assert committed(tmp_path / "worktree" / "job.yaml", "main") == b"main"

    (tmp_path / "outer").mkdir()
    git("init", "--quiet", folder=tmp_path / "outer")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository, "inner")
    git(*add, folder=tmp_path / "outer")
    assert committed(tmp_path / "outer" / "inner" / "job.yaml") == b"main"


def test_a_hook_of_another_repository_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(repository, {"jobs/job.yaml": "it"})
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert committed(repository / "jobs" / "job.yaml") == b"it"


def test_nothing_where_there_is_no_commit_with_the_file(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").touch()
    (repository / "job.yaml").touch()
    assert committed(tmp_path / "job.yaml") is None  # no repository
    assert committed(repository / "job.yaml") is None  # no commit
    commit_files(repository, {"folder/x": "", "name": "target"})
    (repository / "link").symlink_to("name")
    git("add", "link", folder=repository)
    git("commit", "--quiet", "--message=x", folder=repository)
    for name in ("new.yaml", "folder"):
        assert committed(repository / name) is None
    (repository / "link").unlink()
    (repository / "link").touch()
    assert committed(repository / "link") is None  # the last commit has a link


@pytest.mark.parametrize("revision", ["nowhere", "--all", "^HEAD", "HEAD@{5}", "HEAD~5", "HEAD:job.yaml", "a..b", ""])
def test_a_revision_that_is_none(repository: Path, revision: str) -> None:
    commit_files(repository, {"job.yaml": "it"})
    with pytest.raises(UsageError, match="git has no revision"):
        committed(repository / "job.yaml", revision)


def test_a_revision_where_there_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="git has no revision 'main'"):
        committed(tmp_path / "job.yaml", "main")


def test_without_git_there_is_nothing_to_compare_with(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_files(repository, {"job.yaml": "it"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert committed(repository / "job.yaml") is None
    with pytest.raises(UsageError, match="git is not on the PATH"):
        committed(repository / "job.yaml", "main")


def test_without_a_branch_there_is_no_upstream(repository: Path) -> None:
    commit_files(repository, {"job.yaml": "it"})
    git("checkout", "--quiet", "--detach", folder=repository)
    with pytest.raises(UsageError, match=r"^no branch .* \(a detached HEAD\); name a new branch with --branch$"):
        target(open_repository(repository))


def test_a_failure_of_git_says_what_to_type_and_what_it_said(repository: Path) -> None:
    command = Git(repository, ("cat-file", "blob", "a b"))
    with pytest.raises(TfgenError) as error:
        command.output()
    assert str(error.value) == (
        f"git -C {repository} --literal-pathspecs cat-file blob 'a b' ended with code 128: "
        "fatal: Not a valid object name a b"
    )


def test_a_broken_repository_is_no_missing_one(repository: Path) -> None:
    commit_files(repository, {"job.yaml": "it"})
    with (repository / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write("[core\n")
    with pytest.raises(TfgenError, match="rev-parse --git-dir ended with code 128: fatal: bad config line"):
        committed(repository / "job.yaml")
