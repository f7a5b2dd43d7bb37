"""Tests of the checks whether GitOps tools apply exactly the files that tfgen checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.repository import JOB, commit_all, copy_repository, git, run_tfgen, tfgen, write
from tfgen import cli

DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
AGAINST_MAIN = ("--against", "main")
AS_BOTH = ((), ("--read", "index"), AGAINST_MAIN)
"""The options of a check of the files on disk, of the index and of the last commit."""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a repository with one job that is rendered and committed to main, and check out the branch `change`."""
    copy_repository(_rendered_job, tmp_path)
    monkeypatch.chdir(tmp_path)


def _rendered_job() -> None:
    write("jobs/mnist.yaml", JOB)
    write("tfgen.yaml", DEFAULTS)
    tfgen("render", "jobs")
    commit_all()
    git("switch", "--quiet", "--create", "change")


def problems(*arguments: str) -> list[str]:
    """Return the file, the line and the rule of each problem of a check."""
    code, out, _ = run_tfgen("check", "jobs", *arguments)
    lines = out.splitlines()
    assert (code == cli.PROBLEMS) == bool(lines)
    return [f"{line.partition(' ')[0]} {line.rpartition(' ')[2]}" for line in lines]


def test_a_repository_without_such_files_has_no_problem() -> None:
    assert [problems(*options) for options in AS_BOTH] == [[], [], []]


# -- links and submodules --------------------------------------------------------------------------------------------


def link(path: str, target: str) -> Callable[[], None]:
    def replace() -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        if Path(path).exists():
            Path(path).rename(Path(path).parent / target)
        Path(path).symlink_to(target)

    return replace


def submodule() -> None:
    git("init", "--quiet", "charts/mnist/templates/extra")
    write("charts/mnist/templates/extra/pod.yaml", "kind: Pod\n")
    for arguments in (("add", "."), ("commit", "--quiet", "--message=x")):
        git("-C", "charts/mnist/templates/extra", *arguments)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (link("jobs/mnist.yaml", "../mnist.txt"), "jobs/mnist.yaml"),
        (link("jobs/new.yaml", "mnist.yaml"), "jobs/new.yaml"),
        (link("tfgen.yaml", "shared.txt"), "tfgen.yaml"),
        (link("jobs/tfgen.yaml", "../tfgen.yaml"), "jobs/tfgen.yaml"),
        (link("overlays/mnist/base/extra", "/etc"), "overlays/mnist/base/extra"),
        (link("charts/mnist/more", "../../jobs"), "charts/mnist/more"),
        (submodule, "charts/mnist/templates/extra"),
    ],
)
def test_a_link_or_a_submodule_is_an_error(change: Callable[[], None], path: str) -> None:
    change()
    git("add", "--all")
    assert f"{path}:1:1: [linked-file]" in problems()
    assert f"{path}:1:1: [linked-file]" in problems("--read", "index")
    git("commit", "--quiet", "--message=x")
    assert f"{path}:1:1: [linked-file]" in problems(*AGAINST_MAIN)
    git("branch", "--force", "main")  # the link is no news, and its target may change
    assert f"{path}:1:1: [linked-file]" in problems(*AGAINST_MAIN)


def test_the_submodule_of_a_fresh_clone_is_an_empty_folder(tmp_path: Path) -> None:
    submodule()
    commit_all()
    for path in sorted(Path("charts/mnist/templates/extra").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert problems(*AGAINST_MAIN) == ["charts/mnist/templates/extra:1:1: [linked-file]"]


def test_a_ledger_may_not_be_a_link() -> None:
    Path(".tfgen/other.json").symlink_to("mnist.json")
    printed = tfgen("check", "jobs", code=cli.FAILED).err
    assert ".tfgen/other.json is a symbolic link, where tfgen needs a file" in printed
    commit_all()
    assert problems(*AGAINST_MAIN) == [".tfgen/other.json:1:1: [linked-file]"]


def test_the_folder_of_a_job_may_not_be_a_link() -> None:
    Path("elsewhere").mkdir()
    Path("jobs/mnist.yaml").rename("elsewhere/mnist.yaml")
    Path("jobs/ads").symlink_to("../elsewhere")
    commit_all()
    printed = tfgen("check", "jobs/ads/mnist.yaml", *AGAINST_MAIN, code=cli.PROBLEMS).out
    assert "jobs/ads:1:1: found a symbolic link" in printed


def test_a_tfgen_yaml_beside_the_target_of_a_link_does_not_apply() -> None:
    """The written path decides, because nobody reviews the folder of the target."""
    write("elsewhere/tfgen.yaml", f"{DEFAULTS}spec: {{labels: {{team: other}}}}\n")
    Path("jobs/mnist.yaml").rename("elsewhere/mnist.txt")
    Path("jobs/mnist.yaml").symlink_to("../elsewhere/mnist.txt")
    assert "team" not in tfgen("explain", "jobs/mnist.yaml", "--origin").out


def test_links_above_the_repository_are_followed(tmp_path: Path) -> None:
    (tmp_path.parent / "link").unlink(missing_ok=True)
    (tmp_path.parent / "link").symlink_to(tmp_path)
    tfgen("check", str(tmp_path.parent / "link" / "jobs"), *AGAINST_MAIN)


def test_a_link_in_a_hand_written_chart_is_free() -> None:
    write("charts/own/values.yaml", "a: 1\n")
    Path("charts/own/values-prod.yaml").symlink_to("values.yaml")
    commit_all()
    assert problems(*AGAINST_MAIN) == []


# -- attributes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        ("overlays/** working-tree-encoding=ISO-8859-1", True),
        ("/jobs/*.yaml ident", True),
        ("*.yaml filter=other", True),
        ("tfgen.yaml filter=other", True),
        (".tfgen/* filter=other", True),
        ("*.bin filter=lfs diff=lfs merge=lfs -text", False),
        ("charts/** -text", False),
        ("*.yaml text eol=lf", False),
        ("# *.yaml filter=other", False),
    ],
)
def test_an_attribute_that_changes_the_content_is_an_error(line: str, is_error: bool) -> None:
    write(".gitattributes", f"charts/** -text\n{line}\n")
    commit_all()
    expected = [".gitattributes:2:1: [git-attribute]"] if is_error else []
    assert [problems(*options) for options in AS_BOTH] == [expected] * 3


def test_an_attribute_in_a_folder_counts() -> None:
    write("jobs/.gitattributes", "mnist.yaml ident\n")
    commit_all()
    assert problems(*AGAINST_MAIN) == ["jobs/.gitattributes:1:1: [git-attribute]"]


def test_the_blob_is_checked_and_not_the_file_that_a_filter_wrote(tmp_path: Path) -> None:
    """In ISO 8859-1, the line of the blob has other characters than the line on disk."""
    path = Path("overlays/mnist/base/worker.yaml")
    text = path.read_text(encoding="utf-8").replace("kind: StatefulSet\n", "kind: StatefulSet # \u00c5\u0085\n")
    write(".gitattributes", "/overlays/mnist/base/worker.yaml working-tree-encoding=ISO-8859-1\n")
    path.write_bytes(text.encode("latin-1"))
    commit_all()
    assert "overlays/mnist/base/worker.yaml:3:1: [hand-edited]" in problems(*AGAINST_MAIN)


# -- ignore files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "pattern", "is_error"),
    [
        (".sourceignore", "overlays/mnist/base/network*", True),
        (".sourceignore", "*\n!jobs\n", True),
        ("overlays/.sourceignore", "worker.yaml", True),
        (".sourceignore", "/README.md\n/jobs/\n*.bin\n", False),
    ],
)
def test_an_ignore_file_may_not_exclude_a_rendered_file(path: str, pattern: str, is_error: bool) -> None:
    write(path, pattern)
    commit_all()
    assert (f"{path}:1:1: [ignored-file]" in problems(*AGAINST_MAIN)) == is_error


# -- the output folder -----------------------------------------------------------------------------------------------


def test_a_new_root_leaves_no_rendered_file_without_a_check() -> None:
    write("jobs/tfgen.yaml", f"{DEFAULTS}root: true\n")
    tfgen("render", "jobs")
    commit_all()
    assert problems(*AGAINST_MAIN) == [".tfgen/mnist.json:1:1: [moved-root]"]
    git("rm", "--quiet", "-r", "charts", "overlays", ".tfgen")
    commit_all()
    assert problems(*AGAINST_MAIN) == []


def test_a_removed_root_leaves_no_rendered_file_without_a_check() -> None:
    git("rm", "--quiet", "-r", "charts", "overlays", ".tfgen")
    write("jobs/tfgen.yaml", f"{DEFAULTS}root: true\n")
    tfgen("render", "jobs")
    commit_all()
    git("branch", "--force", "main")
    Path("jobs/tfgen.yaml").unlink()
    tfgen("render", "jobs")
    commit_all()
    assert problems(*AGAINST_MAIN) == ["jobs/.tfgen/mnist.json:1:1: [moved-root]"]


# -- the version that is read ----------------------------------------------------------------------------------------


def test_a_check_as_in_ci_reads_the_commit() -> None:
    printed = tfgen("check", "jobs", *AGAINST_MAIN).err
    assert printed == "0 errors, 0 warnings; 1 job compared with main; read the commit HEAD\n"
    printed = tfgen("check", "jobs", "--verify").err
    assert printed == "0 errors, 0 warnings; 1 job compared with HEAD; read the commit HEAD\n"
    write("new.txt", "")
    assert tfgen("check", "jobs", *AGAINST_MAIN).err == "0 errors, 0 warnings; 1 job compared with main\n"


def test_the_index_is_what_the_next_commit_contains() -> None:
    path = Path("overlays/mnist/base/worker.yaml")
    rendered = path.read_text(encoding="utf-8")
    path.write_text(f"{rendered}# edited\n", encoding="utf-8")
    assert problems("--read", "index") == []
    assert problems() == ["overlays/mnist/base/worker.yaml:108:1: [hand-edited]"]
    git("add", "--all")
    path.write_text(rendered, encoding="utf-8")
    assert problems("--read", "index") == ["overlays/mnist/base/worker.yaml:108:1: [hand-edited]"]
    assert problems() == []


@pytest.mark.parametrize(("read", "title"), [("index", "the index"), ("commit", "the commit HEAD")])
def test_a_job_that_is_only_on_disk_is_not_in_the_read_files(read: str, title: str) -> None:
    write("more/job.yaml", JOB.replace("mnist", "more"))
    printed = tfgen("check", "more", "--read", read, code=cli.USAGE).err
    message = (
        f"more: {title} has no document with apiVersion tfgen/... here; to read the files on disk, write --read disk"
    )
    assert message in printed
    tfgen("check", "more", "--read", "disk", "--no-files")
