"""Tests of the outputs of a job: the chart, the overlays, or both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tfgen.targets import render as rendering
from tfgen.tree.ledger import parse_ledger
from tfgen.tree.write import apply, plan_write


def job(*outputs: str, **spec: Any) -> dict[str, Any]:
    asked = {"outputs": list(outputs)} if outputs else {}
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "mnist"},
        "spec": {
            "image": "registry.example.com/ml/mnist:1.4.0",
            "roles": {"chief": {}, "worker": {}},
            **asked,
            "environments": {"prod": {}},
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("outputs", "folders"), [((), "charts overlays"), (("charts",), "charts"), (("overlays",), "overlays")]
)
def test_an_output_is_the_same_with_and_without_the_other(outputs: tuple[str, ...], folders: str) -> None:
    both = rendering.render(job()).tree.files
    wanted = {path: text for path, text in both.items() if path.split("/")[0] in folders.split()}
    assert rendering.render(job(*outputs)).tree.files == wanted


@pytest.mark.parametrize(("output", "other"), [("charts", "kustomize"), ("overlays", "chart")])
def test_what_is_not_asked_for_is_not_made(output: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(other)

    monkeypatch.setattr(rendering, other, refuse)
    assert rendering.render(job(output)).tree.files
    with pytest.raises(AssertionError):
        rendering.render(job())


def test_the_number_of_a_chart_goes_on_when_it_comes_back(tmp_path: Path) -> None:
    numbers = []
    for spec in (job(), job(retries=2), job("overlays", retries=2), job(retries=2), job("overlays"), job()):
        apply(plan_write(tmp_path, [rendering.render(spec)]))
        ledger = parse_ledger("mnist", (tmp_path / ".tfgen/mnist.json").read_text(encoding="utf-8"))
        numbers.append(ledger.revision)
    assert numbers == [0, 1, 1, 1, 1, 2]
