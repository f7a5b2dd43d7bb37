"""Code in a job becomes a file of the chart and of the base, with the same bytes.

kustomize cannot generate a ConfigMap from some texts and names. The base then contains the ConfigMap.
"""

from __future__ import annotations

import pytest

from tests.support.rendered import Rendered

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
    "blanks at a line's end": "x = 1 \ny = 2\n",
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
JOB = {
    "apiVersion": "tfgen/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "mnist"},
    "spec": {
        "image": "registry.example.com/ml/mnist:1.4.0",
        "roles": {"chief": {}, "worker": {}},
        "environments": {"next": {"run": "2", "annotations": {"example.com/team": "a"}}},
    },
}


def rendered(tmp_path, files):
    return Rendered.write({**JOB, "spec": {**JOB["spec"], "code": {"configMap": {"files": files}}}}, tmp_path)


def code_of(objects):
    (item,) = (item for item in objects.values() if "-code-" in item["metadata"]["name"])
    return item


def files_in(folder):
    return {path.name: path.read_bytes().decode() for path in (folder / "files/code").glob("*")}


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({f"{number}.py": text for number, text in enumerate(TEXTS.values())}, id="texts"),
        pytest.param(dict.fromkeys(NAMES, "x = 1\n"), id="names"),
    ],
)
def test_code_is_files(files, tmp_path):
    out = rendered(tmp_path, files)
    for environment in (None, "next"):
        out.assert_equal(environment)
    assert code_of(out.by_helm())["data"] == files
    assert files_in(out.chart) == files_in(out.overlay(None)) == files


@pytest.mark.parametrize(
    "files",
    [{"train.py": "\tx = 1\ny = 1\n"}, {"1e3": "x"}, {"on": "x"}, {"08": "x"}],
    ids=["a tab first", "a number", "a boolean", "an octal number"],
)
def test_code_of_which_kustomize_makes_no_config_map_is_one_in_the_base(files, tmp_path):
    out = rendered(tmp_path, files)
    for environment in (None, "next"):
        out.assert_equal(environment)
    assert code_of(out.by_helm())["data"] == files_in(out.chart) == files
    assert files_in(out.overlay(None)) == {}
