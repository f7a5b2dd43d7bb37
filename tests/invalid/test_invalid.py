"""Tests of every mistake and of a similar job without a mistake.

NAME.yaml has the problems in NAME.out, and its neighbour ok/NAME.yaml has no problems. A case with several files is a
folder: `tfgen check` of layers/NAME has the problems in expected.out.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.support.problems import all_problems
from tfgen import cli
from tfgen.check.jobs import check
from tfgen.check.object_table import SUMMARIES
from tfgen.report.problems import as_text
from tfgen.rules.across import ACROSS
from tfgen.rules.table import RULES

FOLDER = Path(__file__).parent
CASES = sorted({path.with_suffix("") for path in FOLDER.iterdir() if path.suffix in (".yaml", ".out")})
REPOSITORIES = sorted((FOLDER / "layers").iterdir())
NEIGHBOURS = sorted((FOLDER / "ok").iterdir())

# The name of a job begins with a letter, so only the name of a Helm release can break the rule.
OF_RELEASES = {"service-name"}


def problems(path: Path) -> str:
    return as_text(all_problems(path.read_bytes(), path.name))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_mistake(case: Path) -> None:
    expected = case.with_suffix(".out").read_text(encoding="utf-8")
    assert expected
    assert problems(case.with_suffix(".yaml")) == expected


@pytest.mark.parametrize("path", NEIGHBOURS, ids=lambda path: path.stem)
def test_neighbour(path: Path) -> None:
    """The values have no problem. The objects may have a problem of a rule that the case is not about."""
    assert as_text(check(path.read_bytes(), path.name).problems) == ""
    assert f"[{path.stem}]" not in problems(path)


@pytest.mark.parametrize("repository", REPOSITORIES, ids=lambda path: path.name)
def test_mistake_in_layers(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(repository, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    cli.run(["check", ".", "--no-files"])
    assert capsys.readouterr().out == (repository / "expected.out").read_text(encoding="utf-8")


def test_every_rule_has_a_case_and_a_neighbour() -> None:
    """In a folder with several files, the neighbours are the files without a line in expected.out."""
    for rule in {*SUMMARIES, *(rule.id for rule in (*RULES, *ACROSS))} - OF_RELEASES:
        layered = FOLDER / "layers" / rule
        case = layered / "expected.out" if layered.exists() else FOLDER / f"{rule}.out"
        assert f"[{rule}]" in case.read_text(encoding="utf-8")
        assert layered.exists() or (FOLDER / "ok" / f"{rule}.yaml").exists(), rule


def test_every_message_is_one_short_sentence_without_its_full_stop() -> None:
    outputs = [*FOLDER.glob("*.out"), *FOLDER.glob("layers/*/*.out")]
    for output in outputs:
        for line in output.read_text(encoding="utf-8").splitlines():
            message = re.fullmatch(r"[^:]+:\d+:\d+: (?:warning: )?(.*) \[[a-z-]+\]", line)
            assert message, line
            assert not message[1].endswith("."), line
            is_of_object = re.match(r"[A-Z][A-Za-z]+ [-a-z0-9.]+: ", message[1])
            assert not message[1][0].isupper() or message[1].startswith("TF_CONFIG") or is_of_object, line
            assert len(message[1]) <= 240, line
