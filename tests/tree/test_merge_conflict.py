"""Tests of conflict markers that git writes into a text, and of the ledger of a job after a merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Command
from tfgen.errors import TfgenError
from tfgen.tree.ledger import Ledger, LedgerConflictError, conflict_sides, has_conflict, merge_ledgers, parse_ledger

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
