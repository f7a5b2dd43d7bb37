"""Equal jobs give equal bytes: tests/equal/test_outputs.py checks the other laws of drawn jobs."""

from __future__ import annotations

import sys

import pytest

from tests.support.command import Command
from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.targets.render import render


@pytest.mark.parametrize(
    ("umask", "surroundings"),
    [
        ("0022", {"PYTHONHASHSEED": "1"}),
        ("0077", {"PYTHONHASHSEED": "2", "LC_ALL": "C", "PYTHONUTF8": "0"}),
        ("0022", {"LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati"}),
        ("0077", {"PYTHONOPTIMIZE": "1", "COLUMNS": "20"}),
    ],
    ids=str,
)
def test_environment_of_the_process_changes_no_byte(surroundings, umask, tmp_path):
    job = ROOT / "tests" / "golden" / "everything" / "job.yaml"
    (document,) = check(job.read_bytes(), "job.yaml").documents
    line = f'umask {umask} && "$0" -m tfgen render "$1" --out "$2"'
    Command(("sh", "-c", line, sys.executable, job, tmp_path), env=surroundings).run()
    written = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()
    }
    expected = {path: text.encode() for path, text in render(document.data).tree.files.items()}
    assert {path for path in written if not path.startswith(".tfgen/")} == expected.keys()
    assert [path for path in expected if written[path] != expected[path]] == []
