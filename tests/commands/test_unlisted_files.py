"""Files that no ledger lists: an error in tfgen's folders, unless the main branch lists their paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repository import JOB, commit_all, git, repository_fixture, run_tfgen, tfgen
from tfgen import cli

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: extra}\n"
EXCEPTIONS = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
unlistedFiles: [overlays/argocd/root.yaml, overlays/shared/, charts/mnist/templates/extra-*.yaml]
"""


def write(path: str, text: str = SECRET) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


@repository_fixture(autouse=True)
def repository() -> None:
    """Make a repository with one job that is rendered and committed to main, and check out the branch `change`."""
    write("jobs/mnist.yaml", JOB)
    tfgen("render", "jobs")
    commit_all()
    git("switch", "--quiet", "--create", "change")


def checked(*arguments: str) -> tuple[int, list[str]]:
    """Return the exit code of a check, and the file, line and rule of each problem."""
    code, out, _ = run_tfgen("check", "jobs", *arguments)
    lines = out.splitlines()
    return code, [f"{line.partition(' ')[0]} {line.rpartition(' ')[2]}" for line in lines]


@pytest.mark.parametrize(
    "path",
    [
        "charts/mnist/templates/extra.yaml",
        "charts/mnist/charts/other.tgz",
        "overlays/mnist/base/extra.yaml",
        "overlays/mnist/prod/.gitkeep",
        "overlays/argocd/extra.yaml",
        "overlays/flux/extra.yaml",
        "overlays/ghost/kustomization.yaml",
        "overlays/extra.yaml",
    ],
)
def test_an_unlisted_file_is_an_error_whatever_is_compared_with(path: str) -> None:
    write(path)
    expected = (cli.PROBLEMS, [f"{path}:1:1: [unlisted-file]"])
    assert checked() == expected
    commit_all()
    for arguments in ((), ("--against", "main"), ("--against", "main", "--changed"), ("--verify",)):
        assert checked(*arguments) == expected


def test_a_link_has_a_problem_of_its_own() -> None:
    Path("overlays/ghost").symlink_to("../jobs")
    assert checked() == (cli.PROBLEMS, ["overlays/ghost:1:1: [linked-file]"])


def test_a_file_that_redirects_a_tool_counts_in_every_chart() -> None:
    """Argo CD and kustomize read these files. Any other file of a hand-written chart is free."""
    write("charts/own/templates/pod.yaml")
    write("charts/own/.argocd-source.yaml")
    write("charts/own/kustomization.yaml")
    assert checked() == (
        cli.PROBLEMS,
        [f"charts/own/{name}:1:1: [unlisted-file]" for name in (".argocd-source.yaml", "kustomization.yaml")],
    )


def test_a_folder_without_a_ledger_is_one_problem() -> None:
    write("overlays/ghost/base/kustomization.yaml", "resources: [secret.yaml]\n")
    write("overlays/ghost/base/secret.yaml")
    printed = tfgen("check", "jobs", code=cli.PROBLEMS).out
    assert printed == (
        "overlays/ghost/base/kustomization.yaml:1:1: no ledger lists the 2 files of overlays/ghost, but "
        "Helm, kustomize and GitOps tools apply all files of the folder; delete the 2 files of overlays/ghost, or move "
        "the content to objects or patches of the job, or list the path under unlistedFiles in the tfgen.yaml of the "
        "main branch [unlisted-file]\n"
    )


def test_a_hand_written_chart_and_a_file_that_git_ignores_are_allowed() -> None:
    write("charts/postgres/templates/secret.yaml")
    write(".gitignore", "*.swp\n")
    write("overlays/mnist/base/worker.yaml.swp", "")
    assert checked() == (cli.OK, [])


def test_a_file_that_git_ignores_and_has_all_the_same_is_an_error() -> None:
    write(".gitignore", "*.yaml\n")
    write("overlays/mnist/base/extra.yaml")
    git("add", "--force", "overlays/mnist/base/extra.yaml")
    commit_all()
    assert checked("--against", "main") == (
        cli.PROBLEMS,
        ["overlays/mnist/base/extra.yaml:1:1: [unlisted-file]"],
    )


def test_a_change_cannot_except_its_own_files() -> None:
    paths = ["charts/mnist/templates/extra-1.yaml", "overlays/argocd/root.yaml", "overlays/shared/a/b.yaml"]
    for path in paths:
        write(path)
    write("tfgen.yaml", EXCEPTIONS)
    commit_all()
    code, problems = checked("--against", "main")
    exceptions = [f"tfgen.yaml:3:{column}: [guard-rail-loosened]" for column in (17, 44, 62)]
    unlisted = [f"{path}:1:1: [unlisted-file]" for path in paths]
    assert (code, problems) == (cli.PROBLEMS, [*unlisted, *exceptions])
    assert checked() == (cli.OK, [])


def test_without_any_commit_the_list_on_disk_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "elsewhere"
    root.mkdir()
    monkeypatch.chdir(root)
    git("init", "--quiet", "--initial-branch=main")
    write("jobs/mnist.yaml", JOB)
    write("tfgen.yaml", EXCEPTIONS)
    write("overlays/argocd/root.yaml")
    tfgen("render", "jobs")
    assert checked() == (cli.OK, [])


def test_an_invalid_list_of_the_main_branch_allows_nothing() -> None:
    write("tfgen.yaml", EXCEPTIONS.replace("overlays/shared/", '"*"'))
    commit_all()
    git("branch", "--force", "main")
    write("overlays/argocd/root.yaml")
    expected = ["overlays/argocd/root.yaml:1:1: [unlisted-file]", "tfgen.yaml:3:44: [wrong-format]"]
    assert checked("--against", "main") == (cli.PROBLEMS, expected)


def test_a_replaced_object_is_not_what_a_gitops_tool_reads() -> None:
    """git shows the replacement of an object (refs/replace) in place of the object. A clone lacks the replacement."""
    rendered = Path("overlays/mnist/base/worker.yaml")
    original = rendered.read_text(encoding="utf-8")
    rendered.write_text(original.replace("mnist:1", "evil:1"), encoding="utf-8")
    commit_all()
    git("replace", "HEAD:overlays/mnist/base/worker.yaml", "main:overlays/mnist/base/worker.yaml")
    assert checked("--read", "commit", "--against", "main")[0] == cli.PROBLEMS
