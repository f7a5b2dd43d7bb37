"""Job files in one layout, with all values and comments unchanged.

Each case is a folder of tests/commands/fmt: before.yaml, and after.yaml with the expected layout.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.draws import drawn
from tests.support.generated import jobs
from tfgen.cli import OK, PROBLEMS, USAGE, run
from tfgen.commands.fmt import format_file
from tfgen.job.sources import Source
from tfgen.text.parse import parse

CASES = sorted(path for path in (Path(__file__).parent / "fmt").iterdir() if path.is_dir())


def formatted(text: str) -> str:
    result = format_file(Source("job.yaml", text), text)
    assert result.problems == ()
    return result.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_laid_out(case: Path) -> None:
    before, after = ((case / name).read_text(encoding="utf-8") for name in ("before.yaml", "after.yaml"))
    assert before != after
    assert formatted(before) == after
    assert formatted(after) == after


def test_a_comment_after_a_text_of_several_lines_stays_after_its_last_line() -> None:
    before = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
    image: "r.io/x:1"
    args:
    - plain
      multi # c
    - "in
      quotes" # d
    - |  # e
      block
    roles: {chief: {}, ps: {}, worker: {}}
"""
    after = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: r.io/x:1
  args:
  - plain
    multi # c
  - "in
    quotes" # d
  - |  # e
    block
  roles: {chief: {}, ps: {}, worker: {}}
"""
    assert formatted(before) == after
    assert formatted(after) == after


def test_a_line_that_is_empty_to_python_alone_ends_no_block() -> None:
    note = "      annotations:\n        note: |-\n          text\n          \u3000\n"
    head = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: m}\nspec:\n  image: a:1\n"
    text = f"{head}  roles:\n    worker:\n{note}  shm: 1\n"
    assert formatted(text) == text


@pytest.mark.long
@drawn(8)
@given(
    data=jobs(),
    flow=st.sampled_from([None, True, False]),
    style=st.sampled_from([None, "'", '"', "|", ">"]),
    indent=st.integers(2, 6),
    width=st.integers(20, 200),
)
def test_whatever_a_job_says_it_says_afterwards(
    data: dict[str, object], flow: bool | None, style: str | None, indent: int, width: int
) -> None:
    """PyYAML writes the job in each of its styles. Each scalar with its own style retains its value."""
    text = yaml.dump(
        data,
        default_flow_style=flow,
        default_style=style,
        indent=indent,
        width=width,
        allow_unicode=True,
        sort_keys=False,
        Dumper=Untagged,
    )
    before = parse(text, "job.yaml")
    assert before.problems == ()
    after = formatted(text)
    assert [document.data for document in parse(after, "job.yaml").documents] == [d.data for d in before.documents]
    assert formatted(after) == after


class Untagged(yaml.SafeDumper):
    """A PyYAML dumper without tags of numbers, which PyYAML writes in a style with quotes, and without aliases."""

    def ignore_aliases(self, _data: object) -> bool:
        return True

    def represent_scalar(self, tag: str, value: str, style: str | None = None) -> yaml.ScalarNode:
        if tag != "tag:yaml.org,2002:str":
            return yaml.ScalarNode(tag, value, style="")
        return super().represent_scalar(tag, value, style)


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    case = CASES[0]
    before, after = ((case / name).read_text(encoding="utf-8") for name in ("before.yaml", "after.yaml"))
    assert formatted_raw("\ufeff" + before.replace("\n", "\r\n")) == "\ufeff" + after.replace("\n", "\r\n")


def formatted_raw(text: str) -> str:
    return format_file(Source("job.yaml", text.encode()), text).text


BEFORE = """\
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: 'm'}
spec: {image: a:1}
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(BEFORE)
    return Path("job.yaml")


def test_a_check_writes_nothing(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fmt", "--check", "job.yaml"]) == PROBLEMS
    assert capsys.readouterr() == ("would change  job.yaml\n", "1 file, 1 to be changed\n")
    assert job.read_text() == BEFORE


def test_a_folder_is_laid_out_once(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.yaml").write_text("kind:   ConfigMap\n")
    assert run(["fmt", ".", "--format", "json"]) == OK
    assert json.loads(capsys.readouterr().out) == {"problems": [], "changed": ["job.yaml"]}
    assert job.read_text() == BEFORE.replace("'m'", "m")
    assert Path("other.yaml").read_text() == "kind:   ConfigMap\n"
    assert run(["fmt", "--check", "."]) == OK


REFUSED = {
    "no YAML, and no other file is written": (
        "spec: [\n",
        PROBLEMS,
        "wrong.yaml:2:1: a value is missing here, or a [ or { above is not closed [yaml-syntax]\n",
    ),
    "a document of another's": (
        "kind: ConfigMap\n",
        USAGE,
        "tfgen: error: wrong.yaml: the file has no document with an apiVersion tfgen/...\n",
    ),
    "keys that are written as few write them": (
        "apiVersion: tfgen/v1alpha1\n? spec\n: ? image\n  : a\n",
        PROBLEMS,
        "wrong.yaml:3:1: `tfgen fmt` does not support this notation; format the line by hand [layout]\n",
    ),
    "a comment without a place": (
        "apiVersion: tfgen/v1alpha1\nspec: { # nothing yet\n}\n",
        PROBLEMS,
        "wrong.yaml:2:9: tfgen cannot format the file without the loss of a value or a comment; "
        "format the file by hand [layout]\n",
    ),
}


@pytest.mark.parametrize(("text", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_laid_out_stays(
    text: str, code: int, message: str, job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("wrong.yaml").write_text(text)
    assert run(["fmt", "job.yaml", "wrong.yaml"]) == code
    assert capsys.readouterr().err == message
    assert Path("wrong.yaml").read_text() == text
    assert job.read_text() == BEFORE


@pytest.mark.parametrize(
    "block",
    [
        "|+\n      z\n\n\n",
        "|\n      x\n      \t\n",
        "|+\n      x\n       \n\n",
        ">+  # why\n      z\n\n",
        "|\n      x\t\n",
    ],
)
def test_a_block_at_the_end_of_the_file_keeps_its_end(block: str) -> None:
    head = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: m}\nspec:\n  image: a:1\n"
    text = f"{head}  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}\n  env:\n    A: {block}"
    after = formatted(text)
    assert yaml.safe_load(after) == yaml.safe_load(text)
    assert ("# why" in after) == ("# why" in text)
    assert formatted(after) == after


@pytest.mark.parametrize(
    "block", ["|\n      x\n      y\t\n", "|+\n      z\n\n\n", "|\n      x\t\n      y\n", "|+  # why\n      z\n\n"]
)
def test_a_block_whose_end_nobody_sees_is_laid_out_in_quotes(block: str) -> None:
    head = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: m}\nspec:\n  image: a:1\n"
    text = f"{head}  env:\n    A: {block}    B: b\n  roles: {{chief: {{}}, ps: {{}}, worker: {{}}}}\n"
    after = formatted(text)
    assert yaml.safe_load(after) == yaml.safe_load(text)
    assert ("# why" in after) == ("# why" in text)
    assert formatted(after) == after
