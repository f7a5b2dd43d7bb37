"""The outputs of a job: the chart, the overlays, or both, and their size."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.generated import job
from tests.support.tools import ROOT
from tfgen.cli.parser import read_arguments
from tfgen.commands.init import new_job
from tfgen.targets import render as rendering
from tfgen.text.parse import parse
from tfgen.text.yaml_text import json_lines
from tfgen.tree.ledger import parse_ledger
from tfgen.tree.plan import WriteRequest
from tfgen.tree.write import apply, plan_write


def with_outputs(*outputs, **spec):
    return job(**({"outputs": list(outputs)} if outputs else {}), environments={"prod": {}}, **spec)


@pytest.mark.parametrize(
    ("outputs", "folders"), [((), "charts overlays"), (("charts",), "charts"), (("overlays",), "overlays")]
)
def test_output_is_the_same_with_and_without_the_other(outputs, folders):
    both = rendering.render(with_outputs()).tree.files
    wanted = {path: text for path, text in both.items() if path.split("/")[0] in folders.split()}
    assert rendering.render(with_outputs(*outputs)).tree.files == wanted


@pytest.mark.parametrize(("output", "other"), [("charts", "kustomize"), ("overlays", "chart")])
def test_unwanted_output_is_not_made(output, other, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError(other)

    monkeypatch.setattr(rendering, other, refuse)
    assert rendering.render(with_outputs(output)).tree.files
    with pytest.raises(AssertionError):
        rendering.render(with_outputs())


def test_number_of_a_chart_continues_after_a_render_without_the_chart(tmp_path):
    specs = [with_outputs(), with_outputs(retries=2), with_outputs("overlays", retries=2), with_outputs(retries=2)]
    numbers = []
    for spec in (*specs, with_outputs("overlays"), with_outputs()):
        apply(plan_write(WriteRequest(tmp_path, [rendering.render(spec)])))
        ledger = (tmp_path / ".tfgen/mnist.json").read_text(encoding="utf-8")
        numbers.append(parse_ledger("mnist", ledger).revision)
    assert numbers == [0, 1, 1, 1, 1, 2]


# -- the size of the rendered files, without programs, comments and descriptions ---------------------------------------

MOST_LINES = 2_800
MOST_BYTES = 110_000
MOST_LINES_OF_AN_EXAMPLE = 37_600 / 17
"""Maximum average number of lines."""


def lines(files):
    """Return the lines of all files, without programs and comments."""
    texts = [uncommented(text) for path, text in files.items() if not path.endswith(".py")]
    return [line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#")]


def uncommented(text):
    text = re.sub(r"\{\{-? ?/\*.*?\*/ ?-?\}\}\n?", "", text, flags=re.DOTALL)
    return json_lines(undescribed(json.loads(text)), ("properties", "definitions")) if text.startswith("{\n") else text


def undescribed(node):
    if isinstance(node, dict):
        items = node.items()
        return {key: undescribed(child) for key, child in items if key != "description" or isinstance(child, dict)}
    return [*map(undescribed, node)] if isinstance(node, list) else node


def committed(name):
    paths = [path for folder in ("charts", "overlays") for path in (ROOT / folder / name).rglob("*") if path.is_file()]
    return {path.as_posix(): path.read_text(encoding="utf-8") for path in paths}


def test_first_job_of_a_user_has_few_lines(tmp_path):
    first, *_ = new_job(read_arguments(["init", "mnist", "--out", str(tmp_path)])).files
    document = parse(first.text, "job.yaml").documents[0].data
    assert len(document["spec"]["environments"]) == 2
    written = lines(rendering.render(document).tree.files)
    assert len(written) <= MOST_LINES
    assert sum(len(line.encode()) + 1 for line in written) <= MOST_BYTES


def test_examples_have_few_lines():
    written = [lines(committed(path.parent.name)) for path in ROOT.glob("examples/*/job.yaml")]
    assert sum(map(len, written)) <= MOST_LINES_OF_AN_EXAMPLE * len(written)


def test_values_schema_of_every_example_is_small():
    """The values schemas are short, and their lines fit on a screen, except lines with a long pattern."""
    paths = ROOT.glob("charts/*/values.schema.json")
    schemas = {path.parent.name: uncommented(path.read_text(encoding="utf-8")) for path in paths}
    assert schemas
    assert [name for name, text in schemas.items() if len(text.splitlines()) > 700 or len(text.encode()) > 33_000] == []
    long = (line for text in schemas.values() for line in text.splitlines() if len(line) > 120)
    assert [line for line in long if not re.search(r'"(pattern|patternProperties)": |^ *"\^', line)] == []
