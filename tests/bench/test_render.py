"""The benchmark runs: what it sets up is right, whatever the times are."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.command import Command, CommandError
from tests.support.tools import CACHE, ROOT

BENCH = ROOT / "tests" / "bench" / "render.py"


def bench(*arguments: str, **variables: str) -> str:
    if not Path(sys.executable).with_name("tfgen").exists():
        pytest.skip("tfgen is not installed beside this Python")
    return Command((sys.executable, BENCH, "--rounds", "1", *arguments), env=variables).run()


@pytest.mark.skipif(
    not (shutil.which("helm", path=CACHE) or shutil.which("helm")), reason="needs the program helm: make tools"
)
def test_all_parts_end_with_a_time() -> None:
    lines = bench("--many", "--checked", "2", "--rendered", "2").splitlines()
    assert [re.sub(r" +[0-9.]+ +(ms|s) .*|: [0-9.]+ s, .*", "", line) for line in lines] == [
        "python -c pass",
        "tfgen render, nothing to change",
        "tfgen render --stdout",
        "helm template",
        "tfgen check, 2 as committed",
        "tfgen check, 1 as committed",
        "tfgen render, 2 jobs of three environments each",
    ]


def test_a_command_that_fails_is_shown_with_what_it_said(tmp_path: Path) -> None:
    program = tmp_path / "tfgen" / "bin" / "helm"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'out of charts' >&2; exit 7\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(CommandError) as raised:
        bench(XDG_CACHE_HOME=str(tmp_path))
    assert "helm template dist-mnist " in raised.value.stderr
    assert "ended with code 7" in raised.value.stderr
    assert "out of charts" in raised.value.stderr
