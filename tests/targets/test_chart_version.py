"""The version of a chart: a number from the ledger, and a digest of the chart.

Flux detects a new chart by a different text of the version (tests/e2e/gitops). Version ranges and `helm search repo`
find versions without a pre-release (test_chart_repository.py).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.tools import helm_lint, helm_template
from tfgen.kubernetes.keys import CHART
from tfgen.targets.render import render
from tfgen.tree.write import apply, plan_write

VERSION = re.compile(r"1\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]{0,14})")


def job(name: str = "mnist", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "tfgen/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {"image": "registry.example.com/ml/mnist:1.4.0", "roles": {"worker": {}, "chief": {}}, **spec},
    }


def written(folder: Path, **spec: Any) -> str:
    """Return the version of the chart after a render of the job into a folder."""
    apply(plan_write(folder, [render(job(**spec))], force=False))
    version: str = yaml.safe_load((folder / "charts/mnist/Chart.yaml").read_text(encoding="utf-8"))["version"]
    assert VERSION.fullmatch(version)
    return version


@pytest.mark.parametrize(
    ("spec", "oldest"),
    [
        ({}, "1.31"),
        ({"storage": {"data": {"mountPath": "/data", "image": {"reference": "registry.example.com/data:1"}}}}, "1.35"),
        ({"restart": {"ignoreExitCodes": [143], "inPlace": True}}, "1.35"),
    ],
)
def test_the_oldest_kubernetes_of_a_chart(tmp_path: Path, spec: dict[str, Any], oldest: str) -> None:
    """Image volumes and restart rules are on by default from 1.35 on:
    https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/."""
    written(tmp_path, **spec)
    chart = tmp_path / "charts" / "mnist"
    assert f'kubeVersion: ">={oldest}.0-0"' in (chart / "Chart.yaml").read_text(encoding="utf-8")
    assert f"The chart needs Kubernetes {oldest} or newer" in (chart / "README.md").read_text(encoding="utf-8")


def number(version: str) -> int:
    return int(version.split(".")[1])


def in_flux(version: str) -> str:
    """Return a version with a number in place of the build metadata, as source-controller does for `valuesFiles`."""
    return f"{version.partition('+')[0]}+1"


def test_the_number_rises_where_the_chart_changes_and_nowhere_else(tmp_path):
    versions = [written(tmp_path, retries=retries) for retries in (1, 1, 2, 1)]
    assert [number(version) for version in versions] == [0, 0, 1, 2]
    assert versions[0] == versions[1]
    assert versions[0].split(".")[2] == versions[3].split(".")[2]


def test_the_same_input_after_the_same_ledger_gives_the_same_bytes(tmp_path):
    written(tmp_path / "a", retries=1)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert written(tmp_path / "a", retries=2) == written(tmp_path / "b", retries=2)


def test_two_branches_and_their_merge_have_three_versions(tmp_path):
    """Two branches increase the number. The merge retains the files of one branch and renders again."""
    base = written(tmp_path / "ours", retries=1)
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    ours, theirs = written(tmp_path / "ours", retries=2), written(tmp_path / "theirs", retries=1, run="2")
    assert number(ours) == number(theirs) == 1
    merged = written(tmp_path / "ours", retries=2, run="2")
    assert number(merged) == 2
    assert len({in_flux(version) for version in (base, ours, theirs, merged)}) == 4


def test_a_revert_and_a_new_change_have_versions_of_their_own(tmp_path):
    first = written(tmp_path / "now", retries=1)
    shutil.copytree(tmp_path / "now", tmp_path / "reverted")
    second = written(tmp_path / "now", retries=2)
    third = written(tmp_path / "reverted", retries=3)
    assert number(second) == number(third) == 1
    assert len({in_flux(version) for version in (first, second, third)}) == 3


def test_a_chart_without_a_ledger_begins_again(tmp_path):
    first = written(tmp_path, retries=1)
    written(tmp_path, retries=2)
    shutil.rmtree(tmp_path)
    assert written(tmp_path, retries=1) == first


def test_a_number_that_begins_again_is_said(tmp_path):
    written(tmp_path, retries=1)
    written(tmp_path, retries=2)
    shutil.rmtree(tmp_path / ".tfgen")
    plan = plan_write(tmp_path, [render(job(retries=2))], force=True)
    assert plan.restarted_revisions == ("mnist",)


def test_every_file_counts_and_nothing_else():
    """A new icon changes only Chart.yaml, and also changes the digest."""
    changes: list[dict[str, Any]] = [
        {},
        {"image": "registry.example.com/ml/mnist:1.4.1"},
        {"chart": {"icon": "https://ml.example.com/mnist.svg"}},
    ]
    digests = [digest(**change) for change in changes]
    assert len({*digests}) == 3
    assert [digest(**change) for change in changes] == digests


def digest(**spec: Any) -> str:
    """Return the digest in the version of a job's chart."""
    revision = render(job(**spec)).revision
    assert revision is not None
    return revision.digest


@pytest.mark.parametrize("name", ["run-0-hot", "version-1-0"])
def test_a_job_may_be_called_as_a_version_looks(name, tmp_path):
    apply(plan_write(tmp_path, [render(job(name))], force=False))
    chart = yaml.safe_load((tmp_path / f"charts/{name}/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["name"] == name
    assert VERSION.fullmatch(chart["version"])


@pytest.mark.parametrize("length", range(41, 46))
def test_a_cut_label_is_one_that_kubernetes_takes(length, tmp_path):
    """A label has at most 63 characters. For any length, the shortened label ends in a letter or a digit."""
    name = "m" * length
    rendering = render(job(name))
    apply(plan_write(tmp_path, [rendering], force=False))
    chart = tmp_path / "charts" / name
    file = chart / "Chart.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("version: 1.0.", "version: 1.10."), encoding="utf-8")
    printed = helm_template(chart, name, "--skip-tests")
    labels = {item["metadata"]["labels"][CHART] for item in yaml.safe_load_all(printed) if item}
    (label,) = labels
    assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", label)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.example.com:5000/ml/mnist:1.4.0", "1.4.0"),
        ("mnist:2@sha256:" + "a" * 64, "2"),
        ("mnist@sha256:" + "a" * 64, "sha256-" + "a" * 64),
        ("registry.example.com:5000/ml/mnist", None),
    ],
)
def test_the_image_says_the_version_of_the_application(image, version):
    chart = yaml.safe_load(render(job(image=image)).tree.files["charts/mnist/Chart.yaml"])
    assert chart.get("appVersion") == version


def test_a_repository_that_a_browser_reaches_is_a_source():
    code = {"mountPath": "/src", "git": {"repository": "https://git.example.com/ml/mnist.git"}}
    chart = yaml.safe_load(render(job(code=code)).tree.files["charts/mnist/Chart.yaml"])
    assert (chart["home"], chart["sources"]) == (code["git"]["repository"], [code["git"]["repository"]])


def test_what_a_job_says_for_the_people_who_find_its_chart_stands_before_what_tfgen_knows(tmp_path):
    page = {
        "home": "https://ml.example.com/mnist",
        "sources": ["https://git.example.com/ml/mnist", "https://git.example.com/ml/data"],
        "keywords": ["mnist"],
        "maintainers": [{"name": "ML platform", "email": "ml@example.com", "url": "https://ml.example.com/team"}],
        "icon": "https://ml.example.com/mnist.svg",
    }
    code = {"mountPath": "/src", "git": {"repository": "https://git.example.com/ml/mnist.git"}}
    apply(plan_write(tmp_path, [render(job(code=code, chart=page))]))
    chart = yaml.safe_load((tmp_path / "charts/mnist/Chart.yaml").read_text(encoding="utf-8"))
    assert {key: chart[key] for key in page} == page
    printed = helm_lint(tmp_path / "charts/mnist", "--strict")
    assert not re.search(r"\[(ERROR|WARNING|INFO)\]", printed)
