"""Ledgers, and ledgers with the conflicts of a merge."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.repository import tfgen
from tfgen import cli
from tfgen.errors import TfgenError
from tfgen.tree.files import FileTree
from tfgen.tree.ledger import Ledger, LedgerConflictError, conflict_sides, has_conflict, merge_ledgers, parse_ledger
from tfgen.tree.plan import WriteRequest
from tfgen.tree.staging import NumberedFile, Rendering
from tfgen.tree.write import plan_write

# printf 'a\n' | sha256sum, printf 'b\n' | sha256sum
SHA_A = "87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"
SHA_B = "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f"

LEDGER = Ledger("0.1.0", "9b74", {"overlays/m/é.yaml": SHA_B, "charts/m/a.yaml": SHA_A})
TEXT = f"""\
{{
  "files": {{
    "charts/m/a.yaml": "{SHA_A}",
    "overlays/m/é.yaml": "{SHA_B}"
  }},
  "input": "9b74",
  "tool": "0.1.0",
  "version": 1
}}
"""


def test_the_text_of_a_ledger_and_back() -> None:
    assert LEDGER.to_text() == TEXT
    assert parse_ledger("m", TEXT) == LEDGER


def test_a_ledger_that_counts_and_back() -> None:
    counted = LEDGER.replaced(revision=3, revised_digest=SHA_A)
    assert f'"revision": {{\n    "digest": "{SHA_A}",\n    "number": 3\n  }}' in counted.to_text()
    assert parse_ledger("m", counted.to_text()) == counted


@pytest.mark.parametrize(
    "revision", ["3", "{}", f'{{"digest": "{SHA_A}", "number": -1}}', '{"digest": "x", "number": 1}']
)
def test_a_count_that_is_none_is_refused(revision: str) -> None:
    with pytest.raises(TfgenError, match="revision is not a mapping with a digest and a number"):
        parse_ledger("m", TEXT.replace('"tool"', f'"revision": {revision},\n  "tool"'))


def test_an_unfinished_ledger_and_back() -> None:
    a, old = "charts/m/a.yaml", "charts/m/old.yaml"
    unfinished = Ledger("0.1.0", "", {a: SHA_A}, {a: SHA_B, old: SHA_B})
    assert parse_ledger("m", unfinished.to_text()) == unfinished
    assert unfinished.paths() == {a, old}
    assert unfinished.wrote(a, SHA_A)
    assert unfinished.wrote(a, SHA_B)
    assert not unfinished.wrote(old, SHA_A)


def test_the_name_of_a_file_that_is_not_utf_8() -> None:
    ledger = LEDGER.replaced(source=os.fsdecode(b"jobs/\xff\\u0041.yaml"))
    assert r'"source": "jobs/\udcff\\u0041.yaml"' in ledger.to_text()
    assert parse_ledger("m", ledger.to_text()) == ledger


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("<<<<<<< HEAD\n" + TEXT, "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a ledger of version 1"),
        (TEXT.replace('"version": 1', '"version": 2'), "not a ledger of version 1"),
        (TEXT.replace('"version": 1', '"version": true'), "not a ledger of version 1"),
        (TEXT.replace('"version": 1', '"version": 1.0'), "not a ledger of version 1"),
        (TEXT.replace('"version": 1', '"version": "1"'), "not a ledger of version 1"),
        (TEXT.replace('"tool"', '"tools"'), "its keys are files, input, tools, version"),
        (TEXT.replace('"0.1.0"', "1"), "the keys defaults, input, source and tool must have text values"),
        (TEXT.replace('"0.1.0"', "true"), "the keys defaults, input, source and tool must have text values"),
        (TEXT.replace('"0.1.0"', r'"\u001b[2J"'), "tool contains an unprintable character"),
        (TEXT.replace("m/a.yaml", "m/../a.yaml"), "the segment '..' is not a name"),
        (TEXT.replace("m/a.yaml", "m/.git/config"), "'.git' is reserved"),
        (TEXT.replace(SHA_A, SHA_A.upper()), "no SHA-256 for 'charts/m/a.yaml'"),
        (TEXT.replace(f'"{SHA_A}"', "true"), "no SHA-256 for 'charts/m/a.yaml'"),
        (TEXT.replace('"version"', '"unfinished": [],\n"version"'), "unfinished does not map"),
        (TEXT.replace('"version"', '"unfinished": false,\n"version"'), "unfinished does not map"),
        (
            TEXT.replace('"0.1.0"', "1").replace("m/a.yaml", "m/../a.yaml").replace(SHA_B, "0"),
            "the keys defaults, input, source and tool must have text values; files has 'charts/m/../a.yaml': "
            "the segment '..' is not a name; files has no SHA-256 for 'overlays/m/é.yaml'",
        ),
    ],
)
def test_what_is_no_ledger_is_refused_with_all_its_faults_and_the_way_out(text: str, says: str) -> None:
    with pytest.raises(TfgenError) as error:
        parse_ledger("m", text)
    assert str(error.value).startswith(".tfgen/m.json: ")
    assert says in str(error.value)
    assert "restore the ledger from git, or delete the ledger" in str(error.value)


# The paths of a job.


@pytest.mark.parametrize(
    "path",
    [
        "charts/m/Chart.yaml",
        "charts/m/templates/tests/connection.yaml",
        "overlays/m/base/kustomization.yaml",
        "overlays/argocd/m-prod.yaml",
        "overlays/argocd/applicationset-prod.yaml",
        "overlays/argocd/patches/argocd-cm.yaml",
        "overlays/flux/m-prod.yaml",
        "overlays/flux/gpu-eu/m-prod.yaml",
        "overlays/flux/gitrepository-tfgen-724f9cc7.yaml",
        "overlays/flux/gpu-eu/gitrepository-tfgen-724f9cc7.yaml",
        "overlays/flux/namespace-ml.yaml",
        "overlays/flux/gpu-eu/namespace-ml.yaml",
    ],
)
def test_a_place_of_the_job(path: str) -> None:
    assert path in parse_ledger("m", TEXT.replace("charts/m/a.yaml", path)).files


STRANGE = [
    "README.md",
    "job.yaml",
    "tfgen.yaml",
    ".github/workflows/ci.yaml",
    "charts/m",
    "charts/other/Chart.yaml",
    "charts/mm/Chart.yaml",
    "charts/M/Chart.yaml",
    "my/charts/m/Chart.yaml",
    "overlays/other/base/job.yaml",
    "overlays/README.md",
    "overlays/argocd/README.md",
    "overlays/argocd/other-prod.yaml",
    "overlays/argocd/m.yaml",
    "overlays/argocd/m-prod.txt",
    "overlays/argocd/m-prod/x.yaml",
    "overlays/argocd/eu/m-prod.yaml",
    "overlays/argocd/patches/mine.yaml",
    "overlays/flux/eu/west/m-prod.yaml",
    "overlays/flux/gitrepository-mine.yaml",
    "overlays/flux/kustomization.yaml",
]
PLACES = (
    "while the job m has files only in charts/m/, overlays/m/, overlays/argocd/m-*.yaml, overlays/flux/m-*.yaml and "
    "the shared files of the GitOps tools; restore the ledger from git, or delete the ledger, so that the next render "
    "writes a new ledger and reports only the files that differ from the render"
)


@pytest.mark.parametrize("path", STRANGE)
@pytest.mark.parametrize("key", ["files", "unfinished"])
def test_a_place_that_is_not_the_jobs(path: str, key: str) -> None:
    text = json.dumps({"files": {}, "input": "", "tool": "", "version": 1, key: {path: SHA_A}})
    with pytest.raises(TfgenError) as error:
        parse_ledger("m", text)
    assert str(error.value) == f".tfgen/m.json: {key} has {path!r}, {PLACES}"


@pytest.mark.parametrize("job", ["argocd", "flux"])
def test_the_folder_of_a_gitops_tool_is_no_jobs(job: str) -> None:
    text = json.dumps({"files": {f"overlays/{job}/m-prod.yaml": SHA_A}, "input": "", "tool": "", "version": 1})
    with pytest.raises(TfgenError, match=f"while the job {job} has files only in"):
        parse_ledger(job, text)


def test_many_strange_places_are_counted() -> None:
    text = json.dumps({"files": dict.fromkeys(STRANGE, SHA_A), "input": "", "tool": "", "version": 1})
    with pytest.raises(TfgenError) as error:
        parse_ledger("m", text)
    told = "; ".join(f"files has {path!r}" for path in STRANGE[:5])
    assert str(error.value) == f".tfgen/m.json: {told}; 16 more of this kind, {PLACES}"


COMMANDS: list[list[str]] = [["rm", "j"], ["rm", "j", "--force"], ["render", "."], ["check", "."], ["commit", "."]]


@pytest.mark.parametrize("key", ["files", "unfinished"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_touches_a_users_file_for_a_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.system("git init --quiet .")
    digest = hashlib.sha256(b"precious\n").hexdigest()
    (tmp_path / "README.md").write_text("precious\n")
    (tmp_path / ".tfgen").mkdir()
    ledger = {"files": {}, "input": "", "tool": "0.1.0", "version": 1, key: {"README.md": digest}, "source": "job.yaml"}
    (tmp_path / ".tfgen/j.json").write_text(json.dumps(ledger))
    (tmp_path / "other.yaml").write_text(
        "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: other}\n"
        "spec: {strategy: Single, image: registry.example.com/other:1.0.0, roles: {chief: {}}}\n"
    )
    printed = tfgen(*arguments, code=cli.FAILED).err
    assert f".tfgen/j.json: {key} has 'README.md', while the job j has files only in" in printed
    assert (tmp_path / "README.md").read_text() == "precious\n"
    assert {path.name for path in tmp_path.iterdir()} == {".git", ".tfgen", "README.md", "other.yaml"}


def test_nothing_is_rendered_to_a_place_that_is_not_the_jobs(tmp_path: Path) -> None:
    with pytest.raises(TfgenError, match=r"'README\.md': the job m has files only in charts/m/"):
        plan_write(WriteRequest(tmp_path, [Rendering("m", FileTree({"README.md": "x\n"}), "")]))


# The size of a ledger.


def files(number: int, prefix: str = "") -> dict[str, str]:
    return {f"charts/m/templates/{prefix}{index:0>20}.yaml": SHA_A for index in range(number)}


def test_a_ledger_of_too_many_characters_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tfgen").mkdir()
    (tmp_path / ".tfgen/m.json").write_text("no ledger" + " " * 5_000_000)
    cli.run(["rm", "m"])
    assert capsys.readouterr().err.startswith(
        "tfgen: error: .tfgen/m.json: larger than 5,000,000 characters; restore the ledger from git, or delete"
    )


def calls_of(work: Callable[[], object]) -> int:
    """Count the function calls of `work`, built-in functions included. The count does not depend on other processes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def calls_to_plan(root: Path, number: int) -> int:
    """Return the number of calls for a plan in which `number` new files replace twice as many files of a ledger."""
    (root / ".tfgen").mkdir(parents=True)
    (root / ".tfgen/m.json").write_text(Ledger("0.1.0", "", files(number, "a"), files(number, "b")).to_text())
    after = Rendering("m", FileTree(dict.fromkeys(files(number, "c"), "c\n")), "")
    return calls_of(lambda: plan_write(WriteRequest(root, [after])))


def test_twice_the_files_of_a_ledger_take_twice_the_work(tmp_path: Path) -> None:
    calls_to_plan(tmp_path / "first", 10)  # fills the caches of the process
    assert calls_to_plan(tmp_path / "double", 4_000) < 2.1 * calls_to_plan(tmp_path / "single", 2_000)


def test_no_ledger_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(TfgenError) as error:
        plan_write(WriteRequest(tmp_path, [Rendering("m", FileTree(dict.fromkeys(files(20_000), "a\n")), "")]))
    assert str(error.value) == (
        "m renders to 20,000 files; .tfgen/m.json would have more than 2,000,000 characters; "
        "split its environments into several jobs"
    )


# -- merge conflicts ---------------------------------------------------------------------------------------------------

BASE = "a\nb\nc\nd\ne\nf\ng\n"
OURS = "a\nours\nc\nd\ne\nf\n"
THEIRS = "a\ntheirs\nmore\nc\nd\ne\nf\nlast\n"


def merged(folder: Path, ours: str, theirs: str, *options: str) -> str:
    for name, text in {"ours": ours, "base": BASE, "theirs": theirs}.items():
        (folder / name).write_bytes(text.encode())
    argv = ("git", "merge-file", "--stdout", *options, "ours", "base", "theirs")
    return Command(("bash", "-c", f"{' '.join(argv)}; true"), cwd=folder).run()


@pytest.mark.parametrize("style", [(), ("--diff3",), ("--zdiff3",)])
def test_the_sides_of_a_merge_of_git(tmp_path: Path, style: tuple[str, ...]) -> None:
    text = merged(tmp_path, OURS, THEIRS, *style)
    assert has_conflict(text)
    assert conflict_sides(text) == (OURS, THEIRS)


def test_line_ends_of_windows() -> None:
    ours, theirs = OURS.replace("\n", "\r\n"), THEIRS.replace("\n", "\r\n")
    text = f"<<<<<<< HEAD\r\n{ours}=======\r\n{theirs}>>>>>>> theirs\r\n"
    assert has_conflict(text)
    assert conflict_sides(text) == (ours, theirs)


@pytest.mark.parametrize("text", ["", "=======\n", "<<<<<<< HEAD\na\n", " <<<<<<< a\n=======\n>>>>>>> b\n", BASE])
def test_no_conflict(text: str) -> None:
    assert not has_conflict(text)
    assert conflict_sides(text) == (text, text)


def ledger(digest: str, revision: int, path: str = "charts/j/Chart.yaml") -> Ledger:
    return Ledger("1.0", digest, {path: digest * 64}, revision=revision, revised_digest=digest * 64, source="j.yaml")


@pytest.mark.parametrize("newer", [0, 1])
def test_a_merged_ledger_is_unfinished_and_lists_both_sides(newer: int) -> None:
    sides = [ledger("a", 3), ledger("b", 3)]
    sides[newer] = sides[newer].replaced(revision=5)
    after = merge_ledgers(*sides)
    assert after.unfinished is not None
    assert all(after.wrote("charts/j/Chart.yaml", digest * 64) for digest in "ab")
    assert (after.revision, after.revised_digest) == (5, sides[newer].revised_digest)
    assert parse_ledger("j", after.to_text()) == after


@pytest.mark.parametrize("content", ["a", "b", "c"])
def test_a_merge_of_two_branches_with_one_revision_gets_a_higher_revision_than_both(content: str) -> None:
    sides = (ledger("a", 3), ledger("b", 3))
    for ours, theirs in (sides, sides[::-1]):
        after = merge_ledgers(ours, theirs)
        assert parse_ledger("j", after.to_text()) == after
        assert NumberedFile("charts/j/Chart.yaml", content * 64, "", "").number(after) == 4
    equal = merge_ledgers(sides[0], ledger("a", 3))
    assert NumberedFile("charts/j/Chart.yaml", "a" * 64, "", "").number(equal) == 3


def test_files_of_one_side_belong_to_the_job() -> None:
    after = merge_ledgers(ledger("a", 1, "charts/j/a"), ledger("b", 1, "charts/j/b"), {"charts/j/b": "c" * 64})
    assert after.paths() == {"charts/j/a", "charts/j/b"}
    assert after.wrote("charts/j/b", "b" * 64)
    assert after.wrote("charts/j/b", "c" * 64)


def test_a_ledger_with_conflicts_names_the_command() -> None:
    texts = [ledger(digest, 1).to_text() for digest in "ab"]
    text = f"<<<<<<< HEAD\n{texts[0]}=======\n{texts[1]}>>>>>>> theirs\n"
    with pytest.raises(LedgerConflictError, match=r"tfgen render j\.yaml$") as raised:
        parse_ledger("j", text)
    assert raised.value.exit_code == 1
    with pytest.raises(TfgenError, match="not JSON"):
        parse_ledger("j", texts[0].replace("{", "", 1))
