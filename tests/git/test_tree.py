"""Tests of the versions of a repository: the files on disk, in the index and in a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import commit_all, commit_files, git, write
from tfgen.git.command import ObjectReader
from tfgen.git.tree import DISK, CommitTree, IndexTree, Kind, Tree, is_clean

FILES = {"job.yaml": "a", "jobs/mnist/job.yaml": "b", "jobs/.hidden/job.yaml": "c", "overlays/x": "d"}
TREES = (DISK, IndexTree, CommitTree)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a committed repository, the working directory."""
    monkeypatch.chdir(tmp_path)

    git("init", "--quiet", "--initial-branch=main")
    commit_files(tmp_path, FILES)


def made(tree: Tree | type[Tree]) -> Tree:
    return tree if isinstance(tree, Tree) else tree()


@pytest.mark.parametrize("tree", TREES)
def test_all_versions_of_an_unchanged_repository_are_equal(tree: Tree | type[Tree]) -> None:
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


@pytest.mark.parametrize("tree", [IndexTree, CommitTree])
def test_a_file_of_a_listed_folder_is_not_looked_up_again(tree: type[Tree], monkeypatch: pytest.MonkeyPatch) -> None:
    version = tree()
    assert version.files_below(Path("jobs"))
    monkeypatch.delattr(ObjectReader, "entry")
    assert version.read(Path("jobs/mnist/job.yaml")) == b"b"


def test_each_version_has_its_own_content() -> None:
    write("job.yaml", "staged")
    git("add", "job.yaml")
    write("job.yaml", "on disk")
    write("new.yaml", "untracked")
    assert [made(tree).read(Path("job.yaml")) for tree in TREES] == [b"on disk", b"staged", b"a"]
    assert [made(tree).read(Path("new.yaml")) for tree in TREES] == [b"untracked", None, None]
    assert [made(tree).changed(Path()) for tree in TREES] == [{"job.yaml"}, {"job.yaml"}, set()]
    assert [tree.title for tree in map(made, TREES)] == ["the files on disk", "the index", "the commit HEAD"]
    assert not is_clean(Path())


def test_a_filter_changes_the_file_on_disk_and_not_the_blob() -> None:
    """In ISO 8859-1, the blob of U+00C5 is the two bytes of UTF-8, and the file on disk is one byte."""
    write(".gitattributes", "job.yaml working-tree-encoding=ISO-8859-1\n")
    Path("job.yaml").write_bytes(b"\xc5")
    commit_all()
    assert is_clean(Path())
    assert [made(tree).read(Path("job.yaml")) for tree in TREES] == [b"\xc5", b"\xc3\x85", b"\xc3\x85"]


def test_a_link_and_a_submodule_have_no_content_in_git(tmp_path: Path) -> None:
    git("init", "--quiet", tmp_path / "other")
    commit_all(tmp_path / "other")
    Path("overlays/link").symlink_to("../job.yaml")
    git("add", "--all")
    for version in (IndexTree(), DISK):
        assert version.kind(Path("overlays/link")) is Kind.LINK
        assert version.files_below(Path("overlays")) == {"link": Kind.LINK, "x": Kind.FILE}
        assert version.files_below(Path())["other"] is Kind.SUBMODULE
    assert IndexTree().read(Path("overlays/link")) is None
    assert DISK.read(Path("overlays/link")) == b"a"


def test_a_hook_reads_the_index_of_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """During `git commit --only`, the index of a hook is another file than `.git/index`."""
    write("job.yaml", "of the hook")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/other")
    git("read-tree", "HEAD")
    git("add", "job.yaml")
    assert IndexTree().read(Path("job.yaml")) == b"of the hook"
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert IndexTree().read(Path("job.yaml")) == b"a"
