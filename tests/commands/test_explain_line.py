"""`tfgen explain FILE:LINE`: each line of a chart, a base or an overlay has the correct keys, or a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.support.repository import tfgen
from tests.support.tools import ROOT
from tfgen import cli, data_path
from tfgen.check.jobs import check
from tfgen.commands.line_origin.explain_line import LineOrigin, RenderedText, line_origin, page_of_key, purpose
from tfgen.commands.line_origin.line_keys import JobChanges
from tfgen.errors import has_errors
from tfgen.graph.field_keys import structure_keys
from tfgen.graph.graph import graph
from tfgen.job.training_job import TrainingJob
from tfgen.schema import file as schema_file
from tfgen.targets.render import render
from tfgen.text.document import Document
from tfgen.text.parse import parse
from tfgen.tree.ledger import Ledger

JOB = dedent("""\
    apiVersion: tfgen/v1alpha1
    kind: TrainingJob
    metadata:
      name: mnist
    spec:
      image: registry.example.com/ml/mnist:1.4.0
      command: [python, /opt/train.py]
      annotations: {example.com/team: ads}
      roles:
        chief:
          resources: {cpu: 2, memory: 4Gi}
        ps: {resources: {cpu: 2, memory: 4Gi}}
        worker:
          replicas: 4
          resources: {cpu: 4, memory: 8Gi, gpu: {count: 1}}
      storage:
        model:
          mountPath: /model
          claim: {size: 20Gi}
      gang: {scheduler: volcano, queue: research}
      sidecars:
      - {name: metrics, image: "registry.example.com/ml/metrics:2.0.1"}
      patches:
        slow:
          target: {kind: StatefulSet, name: worker}
          merge: {spec: {minReadySeconds: 10}}
      environments:
        dev:
          gang: {enabled: false}
          roles: {worker: {replicas: 1}}
        prod:
          image: registry.example.com/ml/mnist:1.5.0
          run: "7"
          gang: {queue: production}
    """)

NO_LEDGER = Ledger("", "", {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a folder with the job and the rendered files."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "mnist").mkdir()
    (folder / "mnist/job.yaml").write_text(JOB, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tfgen("render", "mnist/job.yaml")
        yield folder


def document(text: str) -> Document:
    checked = check(text.encode(), "mnist/job.yaml")
    assert not has_errors(checked.problems), checked.problems
    return checked.documents[0]


@cache
def changes() -> JobChanges:
    return JobChanges(document(JOB))


@cache
def files() -> dict[str, str]:
    return dict(render(document(JOB).data).tree.files)


def lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


@cache
def origins(path: str) -> list[LineOrigin]:
    text = files()[path]
    rendered = RenderedText(path, text, "mnist", Path("mnist/job.yaml"), NO_LEDGER)
    return [line_origin(changes(), rendered, path, number) for number in range(1, len(lines(text)) + 1)]


def keys(origin: LineOrigin) -> set[tuple[Any, ...]]:
    return {row.path for row in (*origin.values, *origin.tests)}


def explained(place: str) -> str:
    return tfgen("explain", place).out


@pytest.mark.long
def test_every_line_has_a_key_or_a_reason_and_a_page_that_exists() -> None:
    for path in files():
        for origin in origins(path):
            assert re.fullmatch(r"[A-Z].{10,}\.", origin.reason, re.DOTALL), origin
            page, _, anchor = origin.page.partition("#")
            assert not anchor or anchor in headings_of(ROOT / page), origin.page
            assert all(row.place is None or row.place.file == "mnist/job.yaml" for row in origin.values)


@cache
def headings_of(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spec.image", "registry.example.com/ml/mnist:9.9.9"),
        ("spec.roles.worker.replicas", 3),
        ("spec.roles.worker.resources.memory", "9Gi"),
        ("spec.roles.worker.resources.gpu.count", 2),
        ("spec.storage.model.claim.size", "30Gi"),
        ("spec.gang.queue", "vision"),
        ("spec.run", "3"),
        ("spec.retries", 7),
        ("spec.environments.prod.gang.queue", "vision"),
    ],
)
def test_a_line_that_another_value_changes_names_the_key_of_the_value(key: str, value: Any) -> None:
    """The expected lines come from a second render with another value."""
    path = tuple(key.split("."))
    changed = render(data_path.with_value(document(JOB).data, path, value)).tree.files
    job_path = ("spec", *path[3:]) if path[1] == "environments" else path
    explained_lines = 0
    for name, text in files().items():
        before, after = lines(text), lines(changed.get(name, text))
        if len(before) != len(after) or name.endswith(("Chart.yaml", "README.md")):
            continue
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                explained_lines += 1
                assert any(key_path[: len(job_path)] == job_path for key_path in keys(origins(name)[number])), (
                    name,
                    number + 1,
                    old,
                )
    assert explained_lines


def test_a_line_names_the_patch_or_the_structure_that_makes_the_line() -> None:
    for path in ("overlays/mnist/base/worker.yaml", "charts/mnist/templates/worker.yaml"):
        (patched,) = [origin for origin in origins(path) if "minReadySeconds" in origin.line]
        (row,) = patched.values
        assert (row.path, str(row.place)) == (("spec", "patches", "slow"), "mnist/job.yaml:24:5")
    sidecar = [origin for origin in origins("overlays/mnist/base/chief.yaml") if "metrics:2.0.1" in origin.line]
    assert {row.path for origin in sidecar for row in origin.values} == {("spec", "sidecars")}


def test_a_line_of_a_chart(folder: Path) -> None:
    text = (folder / "charts/mnist/templates/worker.yaml").read_text(encoding="utf-8")
    number = 1 + lines(text).index("  replicas: {{ .Values.roles.worker.replicas | int64 }}")
    assert explained(f"charts/mnist/templates/worker.yaml:{number}") == dedent(f"""\
        charts/mnist/templates/worker.yaml:{number}

          replicas: {{{{ .Values.roles.worker.replicas | int64 }}}}

        Set by:

          spec.roles.worker.replicas  4  mnist/job.yaml:14:17

        Reason: Number of tasks.
        Page: docs/environments.md
        """)
    assert "Reason: All pods start together. A gang whose pods start one by one never starts.\n" in explained(
        f"charts/mnist/templates/worker.yaml:{number + 3}"
    )


def test_a_line_of_an_environment_names_the_line_of_the_environment(folder: Path) -> None:
    text = (folder / "overlays/mnist/prod/podgroup.patch.yaml").read_text(encoding="utf-8")
    number = 1 + lines(text).index("  queue: production")
    assert '  spec.gang.queue  "production"  mnist/job.yaml:34:21\n' in explained(
        f"overlays/mnist/prod/podgroup.patch.yaml:{number}"
    )


def test_a_line_that_deletes_an_item_of_the_base_says_so() -> None:
    path = "overlays/tf1-translate/plugin/worker.patch.yaml"
    number = 1 + lines((ROOT / path).read_text(encoding="utf-8")).index("      - $patch: delete")
    printed = tfgen("explain", f"{ROOT / path}:{number}").out
    assert "so the patch deletes it.\n" in printed


def test_the_reason_is_that_of_the_key_that_a_file_sets() -> None:
    """A role may have its own image, but this role has none."""
    (line,) = [line for line in origins("overlays/mnist/base/ps.yaml") if line.line.strip().endswith("mnist:1.4.0")]
    assert [row.path for row in line.values] == [("spec", "image")]
    assert (line.reason, line.page) == ("Image of every role without an image.", "docs/environments.md")


def test_a_line_that_no_key_sets_has_the_purpose_of_the_object() -> None:
    for path in ("overlays/mnist/base/worker.yaml", "charts/mnist/templates/worker.yaml"):
        (line,) = [line for line in origins(path) if line.line == "kind: StatefulSet"]
        assert (line.values, line.tests) == ((), ())
        assert line.reason == "The line is a fixed part of the object that runs the tasks of the role worker."
        assert line.page == "docs/workloads.md#kinds"


@pytest.mark.parametrize("path", ["charts/mnist/files/finisher.py", "overlays/mnist/base/files/finisher.py"])
def test_a_line_of_the_finisher_names_the_page_about_the_finisher(path: str) -> None:
    assert {(line.reason, line.page, line.values) for line in origins(path)} == {
        ("The program is part of tfgen, and is the same for every job.", "docs/runs.md#how-it-ends", ())
    }


def test_the_lines_after_a_wrapped_line_of_a_template_keep_their_keys() -> None:
    """The name of the job is so long that tfgen wraps lines of the notes."""
    text = JOB.replace("name: mnist\n", f"name: {'m' * 33}\n", 1)
    job = JobChanges(document(text))
    path = f"charts/{'m' * 33}/templates/NOTES.txt"
    notes = render(job.document.data).tree.files[path]
    rendered = RenderedText(path, notes, "m", Path("mnist/job.yaml"), NO_LEDGER)
    explained_lines = [line_origin(job, rendered, path, number) for number in range(1, len(lines(notes)) + 1)]
    assert any(line.startswith("    ") and "{{" in line and "--selector" not in line for line in lines(notes))
    (upgrade,) = [line for line in explained_lines if line.line.startswith("  helm upgrade")]
    assert keys(upgrade) == {("metadata", "name")}
    (next_run,) = [line for line in explained_lines if "NEXT" in line.line]
    assert keys(next_run) == {("spec", "run")}
    assert keys(explained_lines[-1]) == set()


def test_a_line_of_a_named_template_names_the_keys_of_all_its_callers() -> None:
    (image,) = [line for line in origins("charts/mnist/templates/_pod.tpl") if line.line.startswith("image: ")]
    assert ("spec", "image") in keys(image)
    (cpu,) = [line for line in origins("charts/mnist/templates/_pod.tpl") if 'set $requests "cpu"' in line.line]
    assert keys(cpu) == {("spec", "roles", role, "resources", "cpu") for role in ("chief", "ps", "worker")}


def test_a_guard_that_reads_several_keys_names_its_rule() -> None:
    (guard,) = [line for line in origins("charts/mnist/templates/guards.yaml") if "no volume has a folder" in line.line]
    assert guard.reason == "Helm refuses values that break the rule resume-from."
    assert guard.page == "docs/rules.md#resume-from"


def test_a_value_that_nobody_sets_has_the_default(folder: Path) -> None:
    number = 1 + lines((folder / "charts/mnist/values.yaml").read_text(encoding="utf-8")).index("retries: 20")
    assert "  spec.retries  20  default\n" in explained(f"charts/mnist/values.yaml:{number}:3")


def test_json(folder: Path) -> None:
    number = 1 + lines((folder / "charts/mnist/values.yaml").read_text(encoding="utf-8")).index("    replicas: 4")
    origin = json.loads(tfgen("explain", "--format", "json", f"charts/mnist/values.yaml:{number}").out)
    assert (origin["line"], origin["text"]) == (number, "    replicas: 4")
    assert [(row["path"], row["value"], row["line"]) for row in origin["values"]] == [
        ("spec.roles.worker.replicas", 4, 14)
    ]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mnist/job.yaml:3", "mnist/job.yaml: tfgen did not render this file; "),
        ("charts/mnist/nothing.yaml:3", "charts/mnist/nothing.yaml: no such file"),
        ("charts/mnist/values.yaml:0", "charts/mnist/values.yaml has no line 0; the last line is "),
        ("charts/mnist/values.yaml:99999", " has no line 99999; "),
    ],
)
def test_a_place_that_is_no_line_of_a_rendered_file(place: str, message: str, folder: Path) -> None:
    assert folder.is_dir()
    assert message in tfgen("explain", place, code=2).err


def test_a_file_that_the_job_no_longer_renders_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    tfgen("render", "job.yaml")
    job.write_text(JOB.replace("replicas: 4", "replicas: 5"), encoding="utf-8")
    printed = tfgen("explain", "charts/mnist/values.yaml:3", code=cli.FAILED).err
    assert (
        "charts/mnist/values.yaml: differs from the file that job.yaml renders to; run tfgen render job.yaml" in printed
    )
    job.write_text(JOB.replace("replicas: 4", "replica: 4"), encoding="utf-8")
    assert 'unknown key "replica"' in tfgen("explain", "charts/mnist/values.yaml:3", code=1).err


def test_each_template_of_a_job_has_a_purpose() -> None:
    for job in sorted(ROOT.glob("tests/golden/*/job.yaml")):
        data = parse(job.read_text(encoding="utf-8"), str(job)).documents[0].data
        for template in graph(TrainingJob.from_document(data).structure):
            assert purpose(template.name).text


def test_each_page_of_a_key_is_about_a_key_of_the_schema() -> None:
    from tfgen.commands.line_origin.explain_line import _PAGES

    schema = schema_file.load()
    assert [key for key in _PAGES if schema_file.node(schema, key.split(".")) is None] == []
    assert page_of_key(("spec", "storage", "model", "claim", "size")) == "docs/storage.md"


def test_the_keys_of_the_structure_are_no_values_of_the_chart() -> None:
    key_names = {".".join(map(str, path)) for path in structure_keys(document(JOB).data)}
    assert key_names == {"spec.gang", "spec.sidecars", "spec.patches.slow"}
