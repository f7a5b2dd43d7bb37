"""Tests of the versions of a repository: the files on disk, in the index and in a commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import git_author
from tests.support.command import Command
from tfgen.git.tree import DISK, CommitTree, IndexTree, Kind, Tree, is_clean

Run = Callable[..., str]
FILES = {"job.yaml": "a", "jobs/mnist/job.yaml": "b", "jobs/.hidden/job.yaml": "c", "overlays/x": "d"}
TREES = (DISK, IndexTree, CommitTree)


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs git in a committed repository, the working directory."""
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        return Command(("git", *arguments), cwd=tmp_path).run()

    run("init", "--quiet", "--initial-branch=main")
    for name, text in FILES.items():
        write(name, text)
    run("add", "--all")
    run("commit", "--quiet", "--message=x")
    return run


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def made(tree: Tree | type[Tree]) -> Tree:
    return tree if isinstance(tree, Tree) else tree()


@pytest.mark.parametrize("tree", TREES)
def test_all_versions_of_an_unchanged_repository_are_equal(git: Run, tree: Tree | type[Tree]) -> None:
    version = made(tree)
    assert version.read(Path("jobs/mnist/job.yaml")) == b"b"
    assert version.read(Path("jobs/mnist/job.yaml").absolute()) == b"b"
    assert version.read(Path("no.yaml")) is None
    assert version.files_below(Path("jobs")) == {".hidden/job.yaml": Kind.FILE, "mnist/job.yaml": Kind.FILE}
    assert version.files_below(Path(), hidden=False) == dict.fromkeys(
        ("job.yaml", "jobs/mnist/job.yaml", "overlays/x"), Kind.FILE
    )
    assert version.files_below(Path("no")) == {}
    assert version.names(Path("overlays")) == ["x"]
    kinds = [version.kind(Path(name)) for name in (".", "jobs", "job.yaml", "no")]
    assert kinds == [Kind.FOLDER, Kind.FOLDER, Kind.FILE, None]
    assert version.changed(Path()) == set()


def test_each_version_has_its_own_content(git: Run) -> None:
    write("job.yaml", "staged")
    git("add", "job.yaml")
    write("job.yaml", "on disk")
    write("new.yaml", "untracked")
    assert [made(tree).read(Path("job.yaml")) for tree in TREES] == [b"on disk", b"staged", b"a"]
    assert [made(tree).read(Path("new.yaml")) for tree in TREES] == [b"untracked", None, None]
    assert [made(tree).changed(Path()) for tree in TREES] == [{"job.yaml"}, {"job.yaml"}, set()]
    assert [tree.title for tree in map(made, TREES)] == ["the files on disk", "the index", "the commit HEAD"]
    assert not is_clean(Path())


def test_a_filter_changes_the_file_on_disk_and_not_the_blob(git: Run) -> None:
    """In ISO 8859-1, the blob of U+00C5 is the two bytes of UTF-8, and the file on disk is one byte."""
    write(".gitattributes", "job.yaml working-tree-encoding=ISO-8859-1\n")
    Path("job.yaml").write_bytes(b"\xc5")
    git("add", "--all")
    git("commit", "--quiet", "--message=y")
    assert is_clean(Path())
    assert [made(tree).read(Path("job.yaml")) for tree in TREES] == [b"\xc5", b"\xc3\x85", b"\xc3\x85"]


def test_a_link_and_a_submodule_have_no_content_in_git(git: Run, tmp_path: Path) -> None:
    Command(("git", "init", "--quiet", str(tmp_path / "other"))).run()
    Command(("git", "commit", "--quiet", "--allow-empty", "--message=x"), cwd=tmp_path / "other").run()
    Path("overlays/link").symlink_to("../job.yaml")
    git("add", "--all")
    for version in (IndexTree(), DISK):
        assert version.kind(Path("overlays/link")) is Kind.LINK
        assert version.files_below(Path("overlays")) == {"link": Kind.LINK, "x": Kind.FILE}
        assert version.files_below(Path())["other"] is Kind.SUBMODULE
    assert IndexTree().read(Path("overlays/link")) is None
    assert DISK.read(Path("overlays/link")) == b"a"


def test_a_hook_reads_the_index_of_its_commit(git: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """During `git commit --only`, the index of a hook is another file than `.git/index`."""
    write("job.yaml", "of the hook")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/other")
    git("read-tree", "HEAD")
    git("add", "job.yaml")
    assert IndexTree().read(Path("job.yaml")) == b"of the hook"
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert IndexTree().read(Path("job.yaml")) == b"a"
