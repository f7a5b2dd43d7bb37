"""Tests of the fixes that a message names."""

from __future__ import annotations

import pytest

from tfgen.lsp.phrases import proposed_fixes


@pytest.mark.parametrize(
    ("message", "cures"),
    [
        ('unknown key "a"; did you mean "b"? (allowed: b, c)', ["mean b"]),
        ("8 of memory; did you mean 8G or 8Gi?", ["mean 8G", "mean 8Gi"]),
        ("found 4g; write 4Gi, or 4G for powers of 1000", ["write 4Gi", "write 4G"]),
        ("found 2h; write 7200, in seconds", ["write 7200"]),
        ('found "no"; write false, without quotes', ["write false"]),
        ('found "3"; write it without quotes', ["write it without quotes"]),
        ("found null; write {} for an empty value", ["write {}"]),
        ('found x; write {a: "x, or y; z"}, or [b, c]', ['write {a: "x, or y; z"}', "write [b, c]"]),
        ("found a; write the items by name: {A: b}", ["write the items by name: {A: b}"]),
        ("found a; write it in its place, {A: b}", ["write A: b"]),
        ("found a; write it in its place, {A: ...}", []),
        ('found the number 1; quote it: "1"', ['quote it: "1"']),
        ("no tool; add argocd: {} or flux: {}", ["add argocd: {}", "add flux: {}"]),
        ("no chief; add chief", ["add chief"]),
        (
            "it is set; remove it, or set security.profile to baseline",
            ["remove it", "set security.profile to baseline"],
        ),
        ("it is set; remove it, or give the job another port", ["remove it"]),
        ("moved; set image of the job", ["set image of the job"]),
        ("the job sets it; set the label only in labels", ["set the label only in labels"]),
        ("latest; remove it (tfgen.yaml:3:4 makes this an error)", ["remove it"]),
        ('"a" is already in the list; remove one of the two entries', ["remove it"]),
        ("two lists have it; remove one of the two entries", []),
        ("hostname is set; remove this entry", ["remove this entry"]),
        ("it is short; write it out", []),
        ("write spec.gang: {a: b}, and enabled: true in prod, or remove this", []),
        ("no gang; write spec.gang: {a: b}, and enabled: true in prod, or remove this", ["remove this"]),
        ("no program; write [sh, -c, LINE]", []),
        ("it follows replicas; set that instead", []),
        ("no cure at all", []),
    ],
)
def test_each_cure_that_is_one_edit_is_read(message: str, cures: list[str]) -> None:
    assert [f"{fix.verb} {fix.words}" for fix in proposed_fixes(message)] == cures
