"""Tests of the reader of git objects, in real repositories."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.repository import commit_files, git
from tfgen.errors import TfgenError, UsageError
from tfgen.git.command import Git, ObjectReader, object_reader, shared_readers
from tfgen.git.history import earlier_contents, histories
from tfgen.git.tree import HEAD, CommitTree, has_commit, resolved
from tfgen.workers import map_items

FILES = {"job.yaml": "a", "overlays/mnist/dev/kustomization.yaml": "b", "overlays/mnist/job.yaml": "c"}


def committed_below(folder: Path, revision: str = HEAD) -> dict[str, bytes]:
    tree = CommitTree(revision)
    contents = tree.read_all(folder / name for name in tree.files_below(folder))
    return {path.relative_to(folder).as_posix(): content for path, content in contents.items()}


def commit(root: Path, files: Mapping[str, str], *options: str) -> Path:
    """Create a repository with one commit, and return its root."""
    git("init", "--quiet", *options, root)
    commit_files(root, files)
    return root


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each start of a git process adds the git command."""
    commands: list[str] = []

    def start(command: Git, **options: bool) -> subprocess.Popen[bytes]:
        commands.append(command.arguments[0])
        return real_start(command, **options)

    real_start = Git.start
    monkeypatch.setattr(Git, "start", start)
    return commands


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_the_files_of_a_commit(tmp_path: Path, form: str) -> None:
    root = commit(tmp_path / "src", FILES, f"--object-format={form}")
    assert CommitTree().read_all([root / "job.yaml", root / "overlays", root / "no.yaml"]) == {root / "job.yaml": b"a"}
    assert committed_below(root / "overlays") == {"mnist/dev/kustomization.yaml": b"b", "mnist/job.yaml": b"c"}
    assert CommitTree().read(root / "overlays" / "mnist" / "job.yaml") == b"c"
    assert committed_below(root / "charts") == {}
    assert CommitTree().names(root / "overlays" / "mnist") == ["job.yaml"]
    assert CommitTree().names(root / "job.yaml") == []


def test_all_reads_of_a_command_use_one_process_for_each_repository(tmp_path: Path, starts: list[str]) -> None:
    roots = [commit(tmp_path / name, FILES) for name in ("one", "two")]
    with shared_readers():
        for root in roots:
            assert has_commit(root)
            assert CommitTree().kind(root / "overlays" / "mnist") == "folder"
            assert len(committed_below(root / "overlays")) == 2
            assert resolved(root) == git("-C", root, "rev-parse", "HEAD").strip()
    assert starts == ["cat-file", "cat-file"]


def test_a_shared_reader_sees_a_commit_that_is_made_later(tmp_path: Path) -> None:
    root = tmp_path / "src"
    git("init", "--quiet", root)
    with shared_readers():
        assert not has_commit(root)
        for text in ("a", "b"):
            commit(root, {"job.yaml": text})
            assert CommitTree().read(root / "job.yaml") == text.encode()
        git("-C", root, "gc", "--quiet")
        assert CommitTree("HEAD~1").read(root / "job.yaml") == b"a"


def test_more_files_than_one_request_contains(tmp_path: Path) -> None:
    files = {f"jobs/{at}/job.yaml": f"{at}\n" * 2000 for at in range(150)}
    root = commit(tmp_path / "src", files)
    assert committed_below(root) == {path: text.encode() for path, text in files.items()}
    assert committed_below(root / "jobs") == {path.removeprefix("jobs/"): text.encode() for path, text in files.items()}


def test_worker_processes_do_not_read_from_the_process_of_their_parent(tmp_path: Path) -> None:
    files = {f"jobs/{at}/job.yaml": str(at) for at in range(40)}
    root = commit(tmp_path / "src", files)
    paths = [root / name for name in files]
    with shared_readers():
        assert len(CommitTree().read_all(paths)) == 40
        results = [*map_items(lambda path: CommitTree().read_all([path])[path].decode(), paths)]
    assert results == [*files.values()]


def test_a_reader_that_is_killed_is_replaced(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    reader = ObjectReader(root)
    head = reader.commit("HEAD")
    assert head
    assert reader._process
    os.kill(reader._process.pid, signal.SIGKILL)
    reader._process.wait()
    assert reader.commit("HEAD") == head
    entry = reader.entry(head.tree, "job.yaml")
    assert entry
    assert reader.blobs([entry.object_id]) == {entry.object_id: b"a"}
    reader.close()


def test_after_an_interrupted_request_each_answer_belongs_to_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = commit(tmp_path / "src", FILES)
    with object_reader(root) as reader:
        with monkeypatch.context() as patch:
            patch.setattr("tfgen.git.command._read_answer", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                reader.commit("HEAD")
        assert reader.commit("nowhere") is None
        assert reader.commit("HEAD")


def test_a_forked_process_does_not_keep_the_reader_open(tmp_path: Path) -> None:
    reader = ObjectReader(commit(tmp_path / "src", FILES))
    assert reader.commit("HEAD")
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    reader.close()
    assert os.waitpid(child, os.WNOHANG) == (0, 0)  # the child still has the pipe open
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_warnings_of_git_do_not_fill_a_pipe(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    git("-C", root, "update-ref", "refs/tags/HEAD", "HEAD")
    with object_reader(root) as reader:
        assert all(reader.commit("HEAD") for _ in range(2500))  # each request prints a warning of 38 bytes


@pytest.mark.parametrize(
    ("revision", "refs", "full"),
    [
        ("origin/main", ("refs/tags/origin/main", "refs/remotes/origin/main"), "refs/remotes/origin/main"),
        ("origin/main~0", ("refs/tags/origin/main", "refs/remotes/origin/main"), "refs/remotes/origin/main~0"),
        ("v1", ("refs/tags/v1", "refs/heads/v1"), "refs/heads/v1"),
        ("v1^{commit}", ("refs/v1", "refs/tags/v1"), "refs/tags/v1^{commit}"),
        ("origin", ("refs/heads/origin", "refs/remotes/origin/HEAD"), "refs/remotes/origin/HEAD"),
    ],
)
def test_the_name_of_several_refs_is_no_revision(
    tmp_path: Path, revision: str, refs: tuple[str, str], full: str
) -> None:
    root = commit(tmp_path / "src", FILES)
    git("-C", root, "update-ref", refs[0], "HEAD")
    commit_id = git("-C", root, "rev-parse", "HEAD").strip()
    assert resolved(root, revision) == commit_id
    git("-C", root, "update-ref", refs[1], "HEAD")
    message = (
        f"{revision!r} is ambiguous, because {refs[0]} and {refs[1]} exist; write the full name of one of them, such "
        f"as {full}"
    )
    for read in (resolved, lambda folder, name: CommitTree(name).read(folder / "job.yaml")):
        with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
            read(root, revision)
    for name in (full, commit_id, "HEAD", "HEAD~0", "@"):
        assert resolved(root, name) == commit_id


def object_file(root: Path, name: str) -> Path:
    blob = git("-C", root, "rev-parse", f"HEAD:{name}").strip()
    return root / ".git" / "objects" / blob[:2] / blob[2:]


def test_a_missing_blob_is_an_error_with_a_fix(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    object_file(root, "job.yaml").unlink()
    with pytest.raises(TfgenError, match=r"git cannot read the blob \w+ \(fatal: .*\); make a complete clone"):
        CommitTree().read_all([root / "job.yaml"])


def test_a_damaged_blob_is_an_error_and_other_files_are_read(tmp_path: Path) -> None:
    big = "".join(f"{at} {at * at}\n" for at in range(20_000))
    root = commit(tmp_path / "src", {**FILES, "big": big})
    file = object_file(root, "big")
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-100])
    with shared_readers():
        with pytest.raises(TfgenError, match="git cannot read the blob"):
            CommitTree().read_all([root / "big"])
        assert CommitTree().read_all([root / "job.yaml"]) == {root / "job.yaml": b"a"}


def test_a_git_folder_without_a_repository_is_skipped(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", {"job.yaml": "top", "sub/job.yaml": "sub"})
    (root / "sub" / ".git").mkdir()
    (root / "sub" / ".git" / "HEAD").touch()  # git also requires the folders objects and refs
    assert CommitTree().read_all([root / "sub" / "job.yaml"]) == {root / "sub" / "job.yaml": b"sub"}


def test_the_mode_of_a_folder_may_begin_with_zeros(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    inner = git("-C", root, "rev-parse", "HEAD:overlays").strip()
    (tmp_path / "tree").write_bytes(b"040000 overlays\0" + bytes.fromhex(inner))
    tree = git("-C", root, "hash-object", "-t", "tree", "-w", "--literally", tmp_path / "tree").strip()
    commit_id = git("-C", root, "commit-tree", tree, "-m", "old").strip()
    assert CommitTree(commit_id).kind(root / "overlays" / "mnist") == "folder"


def test_a_damaged_head_is_an_error_and_no_repository_without_commits(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    head = git("-C", root, "rev-parse", "HEAD").strip()
    (root / ".git" / "objects" / head[:2] / head[2:]).unlink()
    with pytest.raises(TfgenError, match=f"git cannot read the commit {head} of HEAD"):
        has_commit(root)


def test_reads_from_many_folders_use_one_process(tmp_path: Path, starts: list[str]) -> None:
    root = commit(tmp_path / "src", {f"{at}/job.yaml": "" for at in range(5)})
    with shared_readers():
        assert all(has_commit(root / str(at)) for at in range(5))
    assert starts == ["cat-file"]


def write_tree(root: Path, content: bytes) -> str:
    """Write a tree as a loose object, and return its id."""
    stored = b"tree %d\0%s" % (len(content), content)
    tree = hashlib.sha1(stored, usedforsecurity=False).hexdigest()
    file = root / ".git" / "objects" / tree[:2] / tree[2:]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(zlib.compress(stored))
    return tree


def test_folders_may_be_deep(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", FILES)
    blob = git("-C", root, "rev-parse", "HEAD:job.yaml").strip()
    entry = b"100644 job.yaml\0" + bytes.fromhex(blob)
    for _ in range(1500):
        tree = write_tree(root, entry)
        entry = b"40000 a\0" + bytes.fromhex(tree)
    commit_id = git("-C", root, "commit-tree", tree, "-m", "deep").strip()
    assert [*committed_below(root, commit_id)] == ["a/" * 1499 + "job.yaml"]


def test_the_history_of_a_path_that_was_a_link_a_folder_and_a_file(tmp_path: Path) -> None:
    root = commit(tmp_path / "src", {"a": "1"})
    (root / "a").unlink()
    (root / "a").symlink_to("target")
    commit(root, {})
    (root / "a").unlink()
    commit(root, {"a/inner": "2"})
    shutil.rmtree(root / "a")
    commit(root, {"a": "3"})
    git("-C", root, "config", "log.showRoot", "false")
    git("-C", root, "config", "log.showSignature", "true")
    assert earlier_contents(root / "a") == [b"3", b"1"]
    assert [revision.content for revision in histories([root / "a"], most=9)[root / "a"]] == [b"3", None, None, b"1"]


def test_the_history_of_a_file_with_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"job-\xff.yaml")
    root = commit(tmp_path / "src", {name: "1"})
    commit(root, {name: "2"})
    git("-C", root, "config", "core.quotePath", "false")
    assert earlier_contents(root / name) == [b"2", b"1"]


@pytest.mark.parametrize("revision", ["HEAD@{5}", "--all", "a\nb", "\udcff", ""])
def test_a_revision_that_git_does_not_know(tmp_path: Path, revision: str) -> None:
    root = commit(tmp_path / "src", FILES)
    with object_reader(root) as reader:
        assert reader.commit(revision) is None
        assert reader.commit("HEAD")
