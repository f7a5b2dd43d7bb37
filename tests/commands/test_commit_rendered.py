"""``tfgen commit`` with ``gitops.rendered`` in real repositories: the rendered files have their own branch."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.command import Command
from tests.support.repository import clone_fixture, commit_all, git, tfgen, write
from tfgen.commands.git import rendered as branch_steps
from tfgen.job.facts import rendered_branch
from tfgen.job.sources import Source, read_documents
from tfgen.text.document import Document
from tfgen.tree.plan import WritePlan
from tfgen.tree.staging import Staged

pytestmark = pytest.mark.long

JOB = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist, namespace: ml}
spec:
  image: registry.internal/ml/mnist:1.4.0
  roles: {chief: {}, ps: {}, worker: {replicas: 2}}
  environments: {prod: {}}
"""
TEAM = """\
apiVersion: tfgen/v1alpha1
kind: Defaults
spec:
  gitops:
    repository: https://git.internal/ml/jobs.git
    rendered: {branch: rendered}
    argocd: {}
"""
MORE = JOB.replace("{prod: {}}", "{dev: {namespace: dev}, prod: {}}")


@clone_fixture()
def clone() -> None:
    """Make a clone with the defaults of the team, committed and pushed. The clone becomes the current folder."""
    write("tfgen.yaml", TEAM)


def files(revision: str) -> list[str]:
    return git("ls-tree", "-r", "--name-only", revision).splitlines()


def tops(revision: str) -> set[str]:
    return {path.partition("/")[0] for path in files(revision)}


def test_main_has_the_job_and_the_other_branch_what_comes_of_it(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    out = tfgen("commit", "jobs", "--push").out
    assert files("main") == ["jobs/mnist.yaml", "tfgen.yaml"]
    assert tops("rendered") == {".tfgen", "charts", "overlays"}
    for branch in ("main", "rendered"):
        assert git("rev-parse", branch, folder=clone.parent / "remote.git") == git("rev-parse", branch)
    assert git("status", "--porcelain", "--ignored") == ""
    assert git("worktree", "list").count("\n") == 1
    assert "mnist: new job\n1 file committed\n" in out
    assert out.endswith("pushed to origin/main\npushed to origin/rendered\n")


def test_a_moved_job_leaves_its_old_file(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    git("mv", "jobs/mnist.yaml", "new.yaml")
    tfgen("commit", "new.yaml")
    assert files("main") == ["new.yaml", "tfgen.yaml"]
    for branch in ("main", "rendered"):
        assert git("log", "-1", "--format=%s", branch) == "mnist: moved to new.yaml\n"
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_the_first_commit_has_all_files_of_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: str) -> None:
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    git("init", "--quiet", "--initial-branch=main")
    tfgen("init", "mnist", "--repo", "--team", "ads", "--ci", forge)
    defaults = Path("tfgen.yaml").read_text(encoding="utf-8").replace("example.com", "ml.internal")
    write("tfgen.yaml", defaults.replace("  gitops:\n", "  gitops:\n    rendered: {branch: rendered}\n"))
    tfgen("commit", "jobs")
    assert git("status", "--porcelain") == ""
    assert git("rev-list", "--count", "main") == "1\n"
    assert {"jobs", "projects", "schemas", ".gitattributes", ".gitignore"} <= tops("main")
    assert tops("rendered") == {".tfgen", "charts", "overlays"}


def test_it_holds_what_render_writes(clone: Path, tmp_path: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    tfgen("render", "jobs", "--out", str(tmp_path / "out"))
    git("worktree", "add", "--quiet", tmp_path / "rendered", "rendered")
    written, rendered = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "out", tmp_path / "rendered")
    )
    rendered.pop(Path(".git"))
    assert rendered == written


def test_the_commit_names_the_one_that_it_comes_of(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    assert git("log", "-1", "--format=%s%n%(trailers:key=Source-commit,valueonly)", "rendered").split("\n")[:2] == [
        "mnist: new job",
        git("rev-parse", "main").strip(),
    ]


def test_the_application_follows_that_branch(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    (application,) = [path for path in files("rendered") if path.startswith("overlays/argocd/mnist")]
    assert yaml.safe_load(git("show", f"rendered:{application}"))["spec"]["source"] == {
        "repoURL": "https://git.internal/ml/jobs.git",
        "targetRevision": "rendered",
        "path": "overlays/mnist/prod",
    }


def test_what_was_merged_is_rendered_where_nothing_else_is_to_be_committed(clone: Path) -> None:
    """CI runs this command after a merge: HEAD already contains the job."""
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    write("jobs/mnist.yaml", JOB.replace("image:", "run: '2'\n  image:"))
    commit_all()
    done = json.loads(tfgen("commit", "jobs", "--format", "json").out)
    assert (done["commit"], done["rendered"]["branch"]) == (None, "rendered")
    assert done["rendered"]["commit"] == git("rev-parse", "rendered").strip()
    assert "run 2" in done["rendered"]["message"]
    assert git("rev-list", "--count", "rendered").strip() == "2"
    assert "nothing to commit" in tfgen("commit", "jobs").out
    assert git("rev-list", "--count", "rendered").strip() == "2"


def test_a_merged_change_of_a_running_job_is_refused(clone: Path) -> None:
    """The change is compared with the last rendered version, because HEAD already contains the change."""
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    write("jobs/mnist.yaml", JOB.replace("1.4.0", "1.5.0"))
    commit_all()
    assert "[new-run]" in tfgen("commit", "jobs", code=1).err
    assert git("rev-list", "--count", "rendered").strip() == "1"


def test_what_another_tfgen_rendered_of_a_running_job_is_not_replaced(clone: Path, tmp_path: Path) -> None:
    """The rendered files are compared with the branch for rendered files, because the branch of the job has none."""
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    git("worktree", "add", "--quiet", tmp_path / "tree", "rendered")
    chief, ledger = tmp_path / "tree/overlays/mnist/base/chief.yaml", tmp_path / "tree/.tfgen/mnist.json"
    theirs = chief.read_text(encoding="utf-8").replace("enableServiceLinks: false", "enableServiceLinks: true")
    write(chief, theirs)
    data = json.loads(ledger.read_text(encoding="utf-8"))
    data["files"]["overlays/mnist/base/chief.yaml"] = hashlib.sha256(theirs.encode()).hexdigest()
    write(ledger, json.dumps({**data, "tool": "0.0.9"}, indent=2, sort_keys=True) + "\n")
    git("-C", tmp_path / "tree", "commit", "--quiet", "--all", "--amend", "--no-edit")
    git("worktree", "remove", tmp_path / "tree")
    write("jobs/mnist.yaml", MORE)
    err = tfgen("commit", "jobs", code=1).err
    change = "spec.template.spec.enableServiceLinks was true and is false"
    assert f"Job mnist-chief: {change}, because the version of tfgen changed from 0.0.9 to" in err
    assert "[new-run]" in err
    assert git("rev-list", "--count", "rendered").strip() == "1"


def test_two_authors_land_both(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("clone", "--quiet", tmp_path / "remote.git", tmp_path / "other", folder=tmp_path)
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", "--push")
    monkeypatch.chdir(tmp_path / "other")
    write("jobs/cifar.yaml", JOB.replace("mnist", "cifar"))
    tfgen("commit", "jobs/cifar.yaml", "--push")
    rendered = files("origin/rendered") if "origin/rendered" in git("branch", "--all") else files("rendered")
    assert {path for path in rendered if path.startswith(".tfgen/")} == {".tfgen/cifar.json", ".tfgen/mnist.json"}
    assert files("main") == ["jobs/cifar.yaml", "jobs/mnist.yaml", "tfgen.yaml"]


@pytest.mark.parametrize("is_committed", [False, True])
def test_edits_of_one_job_that_merge_cleanly_are_rendered_together(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    prod, test, dev = (f"{name}: {{namespace: {name}}}" for name in ("prod", "test", "dev"))
    job = JOB.replace("{prod: {}}", f"\n    {prod}\n    {test}\n    {dev}")
    job = job.replace("  roles:", "  gang: {scheduler: volcano, queue: research}\n  roles:")
    write("jobs/mnist.yaml", job)
    tfgen("commit", "jobs", "--push")
    git("clone", "--quiet", tmp_path / "remote.git", tmp_path / "ada", folder=tmp_path)
    write("jobs/mnist.yaml", job.replace(dev, "dev: {namespace: dev, gang: {queue: dev}}"))
    tfgen("commit", "jobs", "--push")
    monkeypatch.chdir(tmp_path / "ada")
    write("jobs/mnist.yaml", job.replace(prod, "prod: {namespace: prod, gang: {queue: prod}}"))
    if is_committed:
        commit_all()
    tfgen("commit", "jobs", "--push")
    for environment in ("dev", "prod"):
        names = [name for name in files("rendered") if name.startswith(f"overlays/mnist/{environment}/")]
        assert any(f"queue: {environment}" in git("show", f"rendered:{name}") for name in names)


def test_a_merged_job_that_needs_a_new_run_is_not_pushed(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", "--push")
    git("clone", "--quiet", tmp_path / "remote.git", tmp_path / "ada", folder=tmp_path)
    run_2 = f'{JOB}  run: "2"\n'
    write("jobs/mnist.yaml", run_2.replace("replicas: 2", "replicas: 2, resources: {cpu: 3}"))
    tfgen("commit", "jobs", "--push")
    monkeypatch.chdir(tmp_path / "ada")
    pushed = git("rev-parse", "main", "rendered", folder=tmp_path / "remote.git")
    write("jobs/mnist.yaml", run_2.replace("  image:", "  env: {A: b}\n  image:"))
    printed = tfgen("commit", "jobs", "--push", code=1).err
    assert "[new-run]" in printed
    assert "when merged with origin/main" in printed
    assert git("rev-parse", "main", "rendered", folder=tmp_path / "remote.git") == pushed


def test_a_removed_job_is_taken_away(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    write("jobs/cifar.yaml", JOB.replace("mnist", "cifar"))
    tfgen("commit", "jobs")
    Path("jobs/cifar.yaml").unlink()
    tfgen("commit", "jobs")
    assert not [path for path in files("rendered") if "cifar" in path]
    assert "overlays/mnist/prod/kustomization.yaml" in files("rendered")


def test_of_many_jobs_few_are_in_memory(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command reads the jobs of a file to find their branch. The renderings and the plans are staged."""
    steps: list[str] = []
    plans: list[WritePlan] = []

    def read(source: Source) -> tuple[Document, ...]:
        steps.append("read")
        return read_documents(source)

    def counted_branch(document: Document) -> str:
        steps.append("ask")
        return rendered_branch(document)

    monkeypatch.setattr(branch_steps, "read_documents", read)
    monkeypatch.setattr(branch_steps, "rendered_branch", counted_branch)
    monkeypatch.setattr(branch_steps, "apply", plans.append)
    write("jobs/mnist.yaml", JOB)
    write("jobs/cifar.yaml", JOB.replace("mnist", "cifar"))
    tfgen("commit", "jobs")
    assert steps == ["read", "ask", "ask", "read", "ask", "ask"]
    (plan,) = plans
    values = [*plan.request.renderings, *(job.stored for job in plan.jobs)]
    assert {type(value) for value in values} == {Staged}


def test_another_branch_changes_no_cluster(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    printed = tfgen("commit", "jobs", "--branch", "mine").err
    note = (
        "note: the branch rendered has only rendered files of the branch main (gitops.branch), so tfgen did not render "
        "the branch mine\n"
    )
    assert note in printed
    assert files("mine") == ["jobs/mnist.yaml", "tfgen.yaml"]
    assert git("branch", "--list", "rendered") == ""


def test_what_is_staged_or_dirty_stays_so(clone: Path) -> None:
    write("staged", "a\n")
    git("add", "staged")
    write("tfgen.yaml", f"# mine\n{TEAM}")
    write("jobs/mnist.yaml", JOB)
    write("charts/mine", "b\n")
    tfgen("commit", "jobs")
    assert git("status", "--porcelain").splitlines() == ["A  staged", "?? charts/"]


def test_check_asks_for_no_files(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("check", "jobs")


def test_render_writes_none_beside_the_jobs(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    printed = tfgen("render", "jobs", code=2).err
    assert printed == (
        "tfgen: error: jobs/mnist.yaml: charts/ and overlays/ are in the branch rendered (gitops.rendered), to "
        "which only tfgen commit writes; to render the files to a folder, add --out DIR\n"
    )
    assert not Path("charts").exists()


def test_a_branch_with_the_jobs_is_no_branch_for_the_rest(clone: Path) -> None:
    write("tfgen.yaml", TEAM.replace("branch: rendered", "branch: main"))
    write("jobs/mnist.yaml", JOB)
    printed = tfgen("commit", "jobs", code=2).err
    assert "gitops.rendered: the branch main contains the job files; choose a different branch" in printed


def test_a_branch_that_is_checked_out_is_left_alone(clone: Path, tmp_path: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    git("worktree", "add", "--quiet", tmp_path / "tree", "rendered")
    write("jobs/mnist.yaml", MORE)
    assert "has the branch rendered checked out, but tfgen writes to this branch" in tfgen("commit", "jobs", code=2).err


def test_branches_that_went_apart_are_refused(clone: Path, tmp_path: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", "--push")
    git("clone", "--quiet", tmp_path / "remote.git", tmp_path / "other", folder=tmp_path)
    git("-C", tmp_path / "other", "checkout", "--quiet", "rendered")
    git("-C", tmp_path / "other", "commit", "--quiet", "--allow-empty", "--message=theirs")
    git("-C", tmp_path / "other", "push", "--quiet")
    write("jobs/mnist.yaml", MORE)
    tfgen("commit", "jobs")
    assert "render the files again: git branch --force rendered " in tfgen("commit", "jobs", "--push", code=1).err


def test_a_file_edited_by_hand_there_is_not_lost_and_the_advice_is_followed(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    git("worktree", "add", "--quiet", tmp_path / "tree", "rendered")
    write(tmp_path / "tree/overlays/mnist/base/worker.yaml", "mine: true\n")
    git("-C", tmp_path / "tree", "commit", "--quiet", "--all", "--message=mine")
    git("worktree", "remove", tmp_path / "tree")
    write("jobs/mnist.yaml", MORE)
    monkeypatch.chdir("jobs")
    error = tfgen("commit", ".", code=1).err
    assert "overlays/mnist/base/worker.yaml" in error
    follow(error)
    monkeypatch.chdir(clone)
    tfgen("check", "jobs", "--verify")
    assert "mine: true" not in git("show", "rendered:overlays/mnist/base/worker.yaml")
    assert "overlays/mnist/dev/kustomization.yaml" in files("rendered")
    tfgen("commit", "jobs")


# -- check --verify --------------------------------------------------------------------------------------------------


def follow(output: str) -> None:
    """Run the commands that a message lists."""
    steps = [line.strip() for line in output.splitlines() if line.startswith("  ")]
    assert steps[0].startswith("cd ")
    Command(
        (
            "sh",
            "-ec",
            "\n".join(
                step.replace("tfgen ", f"{sys.executable} -m tfgen ", 1) if step.startswith("tfgen ") else step
                for step in steps
            ),
        ),
        cwd=Path(),
    ).run()


def edit_rendered(
    tmp_path: Path, edit: Callable[[Path], None], message: str = "mine", branch: str = "rendered"
) -> None:
    """Commit an edit to the branch of rendered files. `edit` gets a working tree of the branch."""
    tree = tmp_path / "tree"
    git("worktree", "add", "--quiet", tree, branch)
    edit(tree)
    git("add", "--all", folder=tree)
    git("commit", "--quiet", f"--message={message}", folder=tree)
    git("worktree", "remove", tree)


SERVICE = "overlays/mnist/base/service.yaml"


def _edited(tree: Path) -> None:
    text = (tree / SERVICE).read_text(encoding="utf-8")
    assert "port: 2222" in text
    write(tree / SERVICE, text.replace("port: 2222", "port: 2223"))


def _forged(tree: Path) -> None:
    """Edit a file, and write the digest of the edited file into the ledger."""
    before = hashlib.sha256((tree / SERVICE).read_bytes()).hexdigest()
    _edited(tree)
    after = hashlib.sha256((tree / SERVICE).read_bytes()).hexdigest()
    ledger = (tree / ".tfgen/mnist.json").read_text(encoding="utf-8")
    assert before in ledger
    write(tree / ".tfgen/mnist.json", ledger.replace(before, after))


@pytest.mark.parametrize(("edit", "rule"), [(_edited, "hand-edited"), (_forged, "not-reproduced")])
@pytest.mark.parametrize("is_pushed", [False, True])
def test_verify_reads_the_branch_and_its_advice_is_followed(
    clone: Path, tmp_path: Path, edit: Callable[[Path], None], rule: str, is_pushed: bool
) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", *(["--push"] if is_pushed else []))
    source = git("rev-parse", "HEAD")[:12]
    printed = tfgen("check", "jobs", "--verify").err
    assert printed == "0 errors, 0 warnings; 1 job compared with HEAD; read the commit HEAD\n"
    edit_rendered(tmp_path, edit)
    if is_pushed:
        git("push", "--quiet", "origin", "rendered")
        git("branch", "--delete", "--force", "rendered")
    tfgen("check", "jobs")
    out, err = tfgen("check", "jobs", "--verify", code=1)
    (problem,) = out.splitlines()
    assert problem.startswith(f"rendered:{SERVICE}:")
    assert f'renders "    port: 2222" from jobs/mnist.yaml of the commit {source} [{rule}]' in problem
    follow(err)
    tfgen("check", "jobs", "--verify")
    assert "port: 2222" in git("show", f"{'origin/' if is_pushed else ''}rendered:{SERVICE}")
    write("jobs/mnist.yaml", MORE)
    tfgen("commit", "jobs", *(["--push"] if is_pushed else []))
    tfgen("check", "jobs", "--verify")


def test_verify_compares_with_the_source_commit_and_not_with_the_disk(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    write("jobs/mnist.yaml", MORE)
    tfgen("check", "jobs", "--verify")
    commit_all()  # a merged change that tfgen has not rendered yet
    tfgen("check", "jobs", "--verify")
    tfgen("commit", "jobs")
    tfgen("check", "jobs", "--verify")


def test_verify_of_a_source_commit_that_nobody_merged(clone: Path, tmp_path: Path) -> None:
    """A commit of the branch names a commit of another branch, whose job nobody reviewed."""
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    git("checkout", "--quiet", "-b", "other")
    write("jobs/mnist.yaml", MORE)
    commit_all()
    other = git("rev-parse", "HEAD").strip()
    git("checkout", "--quiet", "main")
    edit_rendered(tmp_path, _edited, f"forged\n\nSource-commit: {other}")
    out, _ = tfgen("check", "jobs", "--verify", code=1)
    assert f"has the Source-commit {other}, which the branch main does not contain [not-reproduced]" in out


def test_verify_without_the_branch(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    commit_all()
    printed = tfgen("check", "jobs", "--verify").err
    assert "this clone has no branch rendered (gitops.rendered), so tfgen did not verify" in printed


def test_a_new_run_is_rendered_there_too(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", "--push")
    tfgen("rerun", "jobs/mnist.yaml", "--commit", "--push")
    assert "run: " in git("show", "origin/main:jobs/mnist.yaml")
    assert "run 2" in git("log", "-1", "--format=%s", "rendered")
    assert git("rev-parse", "rendered", folder=clone.parent / "remote.git") == git("rev-parse", "rendered")


def test_ci_renders_what_it_has_checked_out_without_a_branch(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    commit_all()
    git("push", "--quiet")
    git("checkout", "--quiet", "--detach")
    tfgen("commit", "jobs", "--push")
    assert git("rev-parse", "rendered", folder=clone.parent / "remote.git") == git("rev-parse", "rendered")
    write("jobs/mnist.yaml", MORE)
    assert (
        "(a detached HEAD), and jobs/mnist.yaml has changes; check out a branch" in tfgen("commit", "jobs", code=2).err
    )


def test_a_new_run_with_a_folder_of_its_own_is_rendered_there(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs", "--out", ".")
    assert tops("main") == {".tfgen", "charts", "jobs", "overlays", "tfgen.yaml"}
    tfgen("rerun", "jobs/mnist.yaml", "--commit", "--out", ".")
    assert git("log", "-1", "--format=%s", "main") == "mnist: run 2\n"
    assert git("branch", "--list", "rendered") == ""


@pytest.mark.parametrize("named", ["jobs", ".", "jobs/mnist.yaml"])
def test_the_last_job_is_taken_away_after_its_removal_was_merged(clone: Path, named: str) -> None:
    """CI runs this command when no job is left on disk or in HEAD, and a later commit removed another file."""
    write("jobs/mnist.yaml", JOB)
    write("notes.yaml", "a: 1\n")
    commit_all()
    tfgen("commit", "jobs", "--push")
    tfgen("rm", "jobs/mnist.yaml")
    commit_all()
    Path("notes.yaml").unlink()
    commit_all()
    git("push", "--quiet")
    assert "mnist: removed\n" in tfgen("commit", named, "--push").out
    assert files("rendered") == ["overlays/argocd/.gitkeep"]
    remote = clone.parent / "remote.git"
    assert git("rev-parse", "rendered", folder=remote) == git("rev-parse", "rendered")
    tfgen("commit", named, "--push", code=2)


def test_the_last_job_is_taken_away(clone: Path) -> None:
    write("jobs/mnist.yaml", JOB)
    tfgen("commit", "jobs")
    Path("jobs/mnist.yaml").unlink()
    tfgen("commit", "jobs")
    assert files("main") == ["tfgen.yaml"]
    assert not [path for path in files("rendered") if "mnist" in path]
