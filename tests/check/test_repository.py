"""Tests of the checks whether GitOps tools apply exactly the files that tfgen checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.checked_repository import JOB, Printed, commit, copy_repository, git
from tfgen import cli

DEFAULTS = "apiVersion: tfgen/v1alpha1\nkind: Defaults\n"
AGAINST_MAIN = ("--against", "main")
AS_BOTH = ((), ("--read", "index"), AGAINST_MAIN)
"""The options of a check of the files on disk, of the index and of the last commit."""


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a repository with one job that is rendered and committed to main, and check out the branch `change`."""
    copy_repository(_rendered_job, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


def _rendered_job() -> None:
    write("jobs/mnist.yaml", JOB)
    write("tfgen.yaml", DEFAULTS)
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    git("switch", "--quiet", "--create", "change")


def problems(capsys: Printed, *arguments: str) -> list[str]:
    """Return the file, the line and the rule of each problem of a check."""
    capsys.readouterr()
    code = cli.run(["check", "jobs", *arguments])
    lines = capsys.readouterr().out.splitlines()
    assert (code == cli.PROBLEMS) == bool(lines)
    return [f"{line.partition(' ')[0]} {line.rpartition(' ')[2]}" for line in lines]


def test_a_repository_without_such_files_has_no_problem(capsys: Printed) -> None:
    assert [problems(capsys, *options) for options in AS_BOTH] == [[], [], []]


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
def test_a_link_or_a_submodule_is_an_error(change: Callable[[], None], path: str, capsys: Printed) -> None:
    change()
    git("add", "--all")
    assert f"{path}:1:1: [linked-file]" in problems(capsys)
    assert f"{path}:1:1: [linked-file]" in problems(capsys, "--read", "index")
    git("commit", "--quiet", "--message=x")
    assert f"{path}:1:1: [linked-file]" in problems(capsys, *AGAINST_MAIN)
    git("branch", "--force", "main")  # the link is no news, and its target may change
    assert f"{path}:1:1: [linked-file]" in problems(capsys, *AGAINST_MAIN)


def test_the_submodule_of_a_fresh_clone_is_an_empty_folder(tmp_path: Path, capsys: Printed) -> None:
    submodule()
    commit()
    for path in sorted(Path("charts/mnist/templates/extra").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert problems(capsys, *AGAINST_MAIN) == ["charts/mnist/templates/extra:1:1: [linked-file]"]


def test_a_ledger_may_not_be_a_link(capsys: Printed) -> None:
    Path(".tfgen/other.json").symlink_to("mnist.json")
    assert cli.run(["check", "jobs"]) == cli.FAILED
    assert ".tfgen/other.json is a symbolic link, where tfgen needs a file" in capsys.readouterr().err
    commit()
    assert problems(capsys, *AGAINST_MAIN) == [".tfgen/other.json:1:1: [linked-file]"]


def test_the_folder_of_a_job_may_not_be_a_link(capsys: Printed) -> None:
    Path("elsewhere").mkdir()
    Path("jobs/mnist.yaml").rename("elsewhere/mnist.yaml")
    Path("jobs/ads").symlink_to("../elsewhere")
    commit()
    capsys.readouterr()
    assert cli.run(["check", "jobs/ads/mnist.yaml", *AGAINST_MAIN]) == cli.PROBLEMS
    assert "jobs/ads:1:1: found a symbolic link" in capsys.readouterr().out


def test_a_tfgen_yaml_beside_the_target_of_a_link_does_not_apply(capsys: Printed) -> None:
    """The written path decides, because nobody reviews the folder of the target."""
    write("elsewhere/tfgen.yaml", f"{DEFAULTS}spec: {{labels: {{team: other}}}}\n")
    Path("jobs/mnist.yaml").rename("elsewhere/mnist.txt")
    Path("jobs/mnist.yaml").symlink_to("../elsewhere/mnist.txt")
    capsys.readouterr()
    assert cli.run(["explain", "jobs/mnist.yaml", "--origin"]) == cli.OK
    assert "team" not in capsys.readouterr().out


def test_links_above_the_repository_are_followed(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path.parent / "link").unlink(missing_ok=True)
    (tmp_path.parent / "link").symlink_to(tmp_path)
    capsys.readouterr()
    assert cli.run(["check", str(tmp_path.parent / "link" / "jobs"), *AGAINST_MAIN]) == cli.OK


def test_a_link_in_a_hand_written_chart_is_free(capsys: Printed) -> None:
    write("charts/own/values.yaml", "a: 1\n")
    Path("charts/own/values-prod.yaml").symlink_to("values.yaml")
    commit()
    assert problems(capsys, *AGAINST_MAIN) == []


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
def test_an_attribute_that_changes_the_content_is_an_error(line: str, is_error: bool, capsys: Printed) -> None:
    write(".gitattributes", f"charts/** -text\n{line}\n")
    git("add", "--all")
    git("commit", "--quiet", "--message=x")
    expected = [".gitattributes:2:1: [git-attribute]"] if is_error else []
    assert [problems(capsys, *options) for options in AS_BOTH] == [expected] * 3


def test_an_attribute_in_a_folder_counts(capsys: Printed) -> None:
    write("jobs/.gitattributes", "mnist.yaml ident\n")
    commit()
    assert problems(capsys, *AGAINST_MAIN) == ["jobs/.gitattributes:1:1: [git-attribute]"]


def test_the_blob_is_checked_and_not_the_file_that_a_filter_wrote(tmp_path: Path, capsys: Printed) -> None:
    """In ISO 8859-1, the line of the blob has other characters than the line on disk."""
    path = Path("overlays/mnist/base/worker.yaml")
    text = path.read_text(encoding="utf-8").replace("kind: StatefulSet\n", "kind: StatefulSet # \u00c5\u0085\n")
    write(".gitattributes", "/overlays/mnist/base/worker.yaml working-tree-encoding=ISO-8859-1\n")
    path.write_bytes(text.encode("latin-1"))
    commit()
    assert "overlays/mnist/base/worker.yaml:3:1: [hand-edited]" in problems(capsys, *AGAINST_MAIN)


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
def test_an_ignore_file_may_not_exclude_a_rendered_file(
    path: str, pattern: str, is_error: bool, capsys: Printed
) -> None:
    write(path, pattern)
    commit()
    assert (f"{path}:1:1: [ignored-file]" in problems(capsys, *AGAINST_MAIN)) == is_error


# -- the output folder -----------------------------------------------------------------------------------------------


def test_a_new_root_leaves_no_rendered_file_without_a_check(capsys: Printed) -> None:
    write("jobs/tfgen.yaml", f"{DEFAULTS}root: true\n")
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    assert problems(capsys, *AGAINST_MAIN) == [".tfgen/mnist.json:1:1: [moved-root]"]
    git("rm", "--quiet", "-r", "charts", "overlays", ".tfgen")
    commit()
    assert problems(capsys, *AGAINST_MAIN) == []


def test_a_removed_root_leaves_no_rendered_file_without_a_check(capsys: Printed) -> None:
    git("rm", "--quiet", "-r", "charts", "overlays", ".tfgen")
    write("jobs/tfgen.yaml", f"{DEFAULTS}root: true\n")
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    git("branch", "--force", "main")
    Path("jobs/tfgen.yaml").unlink()
    assert cli.run(["render", "jobs"]) == cli.OK
    commit()
    assert problems(capsys, *AGAINST_MAIN) == ["jobs/.tfgen/mnist.json:1:1: [moved-root]"]


# -- the version that is read ----------------------------------------------------------------------------------------


def test_a_check_as_in_ci_reads_the_commit(capsys: Printed) -> None:
    assert cli.run(["check", "jobs", *AGAINST_MAIN]) == cli.OK
    assert capsys.readouterr().err == "0 errors, 0 warnings; 1 job compared with main; read the commit HEAD\n"
    assert cli.run(["check", "jobs", "--verify"]) == cli.OK
    assert capsys.readouterr().err == "0 errors, 0 warnings; 1 job compared with HEAD; read the commit HEAD\n"
    write("new.txt", "")
    assert cli.run(["check", "jobs", *AGAINST_MAIN]) == cli.OK
    assert capsys.readouterr().err == "0 errors, 0 warnings; 1 job compared with main\n"


def test_the_index_is_what_the_next_commit_contains(capsys: Printed) -> None:
    path = Path("overlays/mnist/base/worker.yaml")
    rendered = path.read_text(encoding="utf-8")
    path.write_text(f"{rendered}# edited\n", encoding="utf-8")
    assert problems(capsys, "--read", "index") == []
    assert problems(capsys) == ["overlays/mnist/base/worker.yaml:105:1: [hand-edited]"]
    git("add", "--all")
    path.write_text(rendered, encoding="utf-8")
    assert problems(capsys, "--read", "index") == ["overlays/mnist/base/worker.yaml:105:1: [hand-edited]"]
    assert problems(capsys) == []


@pytest.mark.parametrize(("read", "title"), [("index", "the index"), ("commit", "the commit HEAD")])
def test_a_job_that_is_only_on_disk_is_not_in_the_read_files(read: str, title: str, capsys: Printed) -> None:
    write("more/job.yaml", JOB.replace("mnist", "more"))
    assert cli.run(["check", "more", "--read", read]) == cli.USAGE
    message = (
        f"more: {title} has no document with apiVersion tfgen/... here; to read the files on disk, write --read disk"
    )
    assert message in capsys.readouterr().err
    assert cli.run(["check", "more", "--read", "disk", "--no-files"]) == cli.OK
