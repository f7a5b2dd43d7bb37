"""Code in a job becomes a file of the chart and of the base, with the same bytes.

kustomize cannot generate a ConfigMap from some texts and names. The base then contains the ConfigMap.
"""

from __future__ import annotations

import pytest

from tests.support.generated import job
from tests.support.rendered import assert_outputs_equal

pytestmark = pytest.mark.long

TEXTS = {
    "empty": "",
    "one line": "pass",
    "a line break alone": "\n",
    "blanks alone": "  ",
    "blanks and line breaks": " \n \n",
    "an indented first line": "  x = 1\n",
    "a tab first": "\tx = 1",
    "a tab behind an empty line": "\n\tx = 1\n",
    "a tab behind a blank": " \tx = 1\n\ty = 1\n",
    "a tab in the second line": "x = 1\n\ty = 1\n",
    "an empty line first": "\n\nx = 1\n",
    "no line break at the end": "x = 1\ny = 2",
    "two line breaks at the end": "x = 1\n\n",
    "blanks at the end of a line": "x = 1 \ny = 2\n",
    "blanks at the end": "x = 1\n  ",
    "a template": "{{ .Values.image }}\n{{- end }}\n",
    "a comment": "# x\n",
    "documents": "---\n...\n--- x\n",
    "a number": "1e4",
    "a quote": '\'"\\\n"',
    "other letters": "é, 漢, 🙂\n\u00a0\n",
    "a long line": "x" * 500 + " " + "y" * 500 + "\n",
}
NAMES = ("x", "__init__.py", "train.py", "a.bak", "a.tmp", ".DS_Store", "Chart.yaml", "x" * 253)
CASES = {
    "texts": ({f"{number}.py": text for number, text in enumerate(TEXTS.values())}, True),
    "names": (dict.fromkeys(NAMES, "x = 1\n"), True),
    "a tab first": ({"train.py": "\tx = 1\ny = 1\n"}, False),
    "a name that is a number": ({"1e3": "x"}, False),
    "a name that is a boolean": ({"on": "x"}, False),
    "a name that is an octal number": ({"08": "x"}, False),
}


@pytest.mark.parametrize(("files", "generated"), CASES.values(), ids=CASES)
def test_code_is_a_file_of_the_chart_and_of_a_base_that_generates_its_config_map(files, generated, tmp_path):
    prod = {"run": "2", "annotations": {"example.com/team": "a"}}
    document = job(code={"configMap": {"files": files}}, environments={"prod": prod})
    rendered = assert_outputs_equal(document, tmp_path)
    (config_map,) = (item for (*_, name), item in rendered.by_helm().items() if "-code-" in name)
    assert config_map["data"] == files_in(rendered.chart) == files
    assert files_in(rendered.overlay(None)) == (files if generated else {})


def files_in(folder):
    return {path.name: path.read_bytes().decode() for path in (folder / "files/code").glob("*")}
