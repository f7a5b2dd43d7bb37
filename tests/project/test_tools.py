"""tests/support/tools.py with the real tools, on a small chart and a small overlay."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.support import tools
from tests.support.command import Command, CommandError
from tests.support.helm import HelmLibrary, HelmProgram
from tests.support.tools import kubeconform, kustomize_build

if TYPE_CHECKING:
    from pathlib import Path

CHART = {
    "Chart.yaml": "{apiVersion: v2, name: tiny, version: 0.1.0}",
    "values.yaml": "{size: 1, words: {a: old, b: kept}}",
    "values.schema.json": '{"properties": {"size": {"type": "integer"}}}',
    "templates/map.yaml": """\
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "{{ .Release.Name }}"}
        data: {size: "{{ .Values.size }}", words: "{{ .Values.words.a }} {{ .Values.words.b }}"}
        """,
    "templates/NOTES.txt": "Thank you.",
    "templates/tests/check.yaml": """\
        apiVersion: v1
        kind: Pod
        metadata: {name: check, annotations: {helm.sh/hook: test}}
        spec: {containers: [{name: check, image: check}]}
        """,
}


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny", CHART)


@pytest.fixture(params=["program", "library"])
def helm(request: pytest.FixtureRequest) -> HelmProgram | HelmLibrary:
    return HelmLibrary(no_program) if request.param == "library" else HelmProgram(tools.helm_program())


def no_program() -> HelmProgram:
    raise AssertionError("the library needs no program for this command")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text), encoding="utf-8")
    return folder


def test_helm_template_merges_files_and_settings_in_helms_order(helm, chart, tmp_path):
    one, two = write(tmp_path, {"one": "{size: 2, words: {a: one}}", "two": "{words: {a: two}}"}).glob("[ot][nw][eo]")
    one, two = sorted([one, two])
    args = ("-f", str(one), "--values", str(two), "--set-string", "words.a=1e3", "--set", "words.a=last,size=7")
    assert list(yaml.safe_load_all(helm.template(chart, "mine", "--skip-tests", *args))) == [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "mine"},
            "data": {"size": "7", "words": "1e3 kept"},
        }
    ]


def test_helm_template_shows_one_file(helm, chart):
    shown = helm.template(chart, "mine", "--show-only", "templates/tests/check.yaml")
    assert [document["kind"] for document in yaml.safe_load_all(shown)] == ["Pod"]


def test_helm_template_fails_with_helms_own_message(helm, chart):
    with pytest.raises(CommandError) as failure:
        helm.template(chart, "mine", "--skip-tests", "--set", "size=many")
    assert "- at '/size': got string, want integer" in failure.value.stderr
    assert "--skip-tests --set size=many" in str(failure.value)


@pytest.mark.parametrize("release", ["UPPER", "a" * 54])
def test_helm_template_refuses_a_release_name_as_helm_does(helm, chart, release):
    with pytest.raises(CommandError, match="release name"):
        helm.template(chart, release, "--skip-tests")


def test_helm_lint_passes_and_fails(helm, chart):
    assert "icon is recommended" in helm.lint(chart, "--strict")
    write(chart, {"templates/dotted.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: not_a_name}}"})
    assert "not_a_name" in helm.lint(chart)
    with pytest.raises(CommandError, match="not_a_name"):
        helm.lint(chart, "--strict")


def test_the_program_runs_the_commands_that_the_library_cannot(chart):
    helm = tools.helm()
    shown = helm.template(chart, "mine", "--skip-tests", "--api-versions", "a/v1")
    assert [document["kind"] for document in yaml.safe_load_all(shown)] == ["ConfigMap"]
    with_tests = helm.template(chart, "mine")
    assert [document["kind"] for document in yaml.safe_load_all(with_tests)] == ["ConfigMap", "Pod"]


def test_kustomize_build(tmp_path):
    files = {
        "kustomization.yaml": "resources: [a.yaml]",
        "a.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a}}",
    }
    assert yaml.safe_load(kustomize_build(write(tmp_path, files)))["metadata"] == {"name": "a"}


def test_kustomize_build_fails_on_a_warning(tmp_path):
    with pytest.raises(CommandError, match="'commonLabels' is deprecated"):
        kustomize_build(
            write(tmp_path, {"kustomization.yaml": "{commonLabels: {a: b}, configMapGenerator: [{name: a}]}"})
        )


def test_kubeconform_knows_every_field_and_kind(tmp_path):
    kubeconform("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: None}}")
    with pytest.raises(CommandError, match="additional properties 'clusterIp' not allowed"):
        kubeconform("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIp: None}}")
    pod_group = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: a}, spec: {minMember: 2}}"
    with pytest.raises(CommandError, match="could not find schema for PodGroup"):
        kubeconform(pod_group)
    (tmp_path / "podgroup.json").write_text('{"properties": {"spec": {"required": ["minMember"]}}}')
    kubeconform(pod_group, schemas=[f"{tmp_path}/{{{{.ResourceKind}}}}.json"])


def test_a_failed_command_prints_as_a_line_for_a_shell(tmp_path):
    program = "import sys; print('out'); sys.exit('why: ' + sys.stdin.read())"
    command = Command((sys.executable, "-c", program), cwd=tmp_path, env={"A": "a b"}, stdin="input")
    with pytest.raises(CommandError) as failure:
        command.run()
    assert str(failure.value) == dedent(
        f"""\
        $ (cd {tmp_path} && A='a b' {sys.executable} -c 'import sys; print('"'"'out'"'"'); """
        f"""sys.exit('"'"'why: '"'"' + sys.stdin.read())')
        exit code 1
        --- stdout
        out

        --- stderr
        why: input
        """
    )


def test_a_silent_command_fails_on_a_warning():
    warning = Command((sys.executable, "-c", "import sys; print('careful', file=sys.stderr); print('done')"))
    assert warning.run() == "done\n"
    with pytest.raises(CommandError, match="careful"):
        warning.run(silent=True)


@pytest.mark.parametrize(
    ("answer", "found"),
    [("v4.3.1+gabc", True), ('version.BuildInfo{Version:"v4.3"}', True), ("v3.19.0", False), ("no idea", False)],
)
def test_a_chosen_program_is_taken_in_the_right_version_only(tmp_path, monkeypatch, answer, found):
    program = tmp_path / "helm"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("HELM", str(program))
    look = tools._program.__wrapped__
    if found:
        assert look("helm", range(4, 5)) == program
    else:
        with pytest.raises(pytest.fail.Exception, match="HELM="):
            look("helm", range(4, 5))
