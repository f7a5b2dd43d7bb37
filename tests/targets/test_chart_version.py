"""The version of a chart: a number from the ledger, and a digest of the chart. Chart.yaml has other facts of the job.

Flux detects a new chart by a different text of the version (tests/e2e/gitops). Version ranges and `helm search repo`
find versions without a pre-release.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import threading

import pytest
import yaml

from tests.support.command import Command
from tests.support.generated import job
from tests.support.tools import helm_lint, helm_program, helm_template
from tfgen.kubernetes.keys import CHART
from tfgen.targets.render import render
from tfgen.tree.plan import WriteRequest
from tfgen.tree.write import apply, plan_write

VERSION = re.compile(r"1\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]{0,14})")
GIT = {"mountPath": "/src", "git": {"repository": "https://git.example.com/ml/mnist.git"}}


def write(folder, name="mnist", **spec):
    """Render a job into a folder, and return its chart and Chart.yaml."""
    apply(plan_write(WriteRequest(folder, [render(job(name, **spec))])))
    chart = folder / "charts" / name
    return chart, yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))


def version_of(folder, **spec):
    version = write(folder, **spec)[1]["version"]
    assert VERSION.fullmatch(version)
    return version


def number(version):
    return int(version.split(".")[1])


def in_flux(version):
    """Return a version with a number in place of the build metadata, as source-controller does for `valuesFiles`."""
    return f"{version.partition('+')[0]}+1"


def test_number_rises_only_when_the_chart_changes(tmp_path):
    versions = [version_of(tmp_path, retries=retries) for retries in (1, 1, 2, 1)]
    assert [number(version) for version in versions] == [0, 0, 1, 2]
    assert versions[0] == versions[1]
    assert versions[0].split(".")[2] == versions[3].split(".")[2]


def test_two_branches_and_their_merge_have_three_versions(tmp_path):
    """Two branches increase the number. The merge retains the files of one branch and renders again."""
    base = version_of(tmp_path / "ours", retries=1)
    for other in ("theirs", "same"):
        shutil.copytree(tmp_path / "ours", tmp_path / other)
    ours, theirs = version_of(tmp_path / "ours", retries=2), version_of(tmp_path / "theirs", retries=1, run="2")
    assert version_of(tmp_path / "same", retries=2) == ours, "the same input after the same ledger has the same version"
    merged = version_of(tmp_path / "ours", retries=2, run="2")
    assert [number(version) for version in (ours, theirs, merged)] == [1, 1, 2]
    assert len({in_flux(version) for version in (base, ours, theirs, merged)}) == 4


def test_chart_without_a_ledger_begins_again_with_a_warning(tmp_path):
    first = version_of(tmp_path, retries=1)
    version_of(tmp_path, retries=2)
    shutil.rmtree(tmp_path / ".tfgen")
    plan = plan_write(WriteRequest(tmp_path, [render(job(retries=2))], force=True))
    assert [job.restarts_revision for job in plan.jobs] == [True]
    shutil.rmtree(tmp_path)
    assert version_of(tmp_path, retries=1) == first


def test_every_file_changes_the_digest():
    """A new icon changes only Chart.yaml, and also changes the digest."""
    changes = [{}, {"image": "mnist:1.4.1"}, {"chart": {"icon": "https://ml.example.com/mnist.svg"}}]
    digests, again = ([render(job(**change)).revision.digest for change in changes] for _ in range(2))
    assert len({*digests}) == 3
    assert digests == again


@pytest.mark.parametrize("name", ["run-0-hot", "version-1-0"])
def test_name_of_a_job_may_look_like_a_version(name, tmp_path):
    _, chart = write(tmp_path, name)
    assert chart["name"] == name
    assert VERSION.fullmatch(chart["version"])


@pytest.mark.parametrize("length", range(41, 46))
def test_label_that_is_cut_is_valid(length, tmp_path):
    """A label has at most 63 characters. For any length, the shortened label ends in a letter or a digit."""
    chart, _ = write(tmp_path, "m" * length)
    file = chart / "Chart.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("version: 1.0.", "version: 1.10."), encoding="utf-8")
    printed = yaml.safe_load_all(helm_template(chart, chart.name, "--skip-tests"))
    (label,) = {item["metadata"]["labels"][CHART] for item in printed if item}
    assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", label)


# -- other facts of Chart.yaml ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "oldest"),
    [
        ({}, "1.31"),
        ({"storage": {"data": {"mountPath": "/data", "image": {"reference": "registry.example.com/data:1"}}}}, "1.35"),
        ({"restart": {"ignoreExitCodes": [143], "inPlace": True}}, "1.35"),
    ],
)
def test_oldest_kubernetes_of_a_chart(tmp_path, spec, oldest):
    """Image volumes and restart rules are on by default from 1.35 on:
    https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/."""
    folder, chart = write(tmp_path, **spec)
    assert chart["kubeVersion"] == f">={oldest}.0-0"
    assert f"The chart needs Kubernetes {oldest} or newer" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.example.com:5000/ml/mnist:1.4.0", "1.4.0"),
        ("mnist:2@sha256:" + "a" * 64, "2"),
        ("mnist@sha256:" + "a" * 64, "sha256-" + "a" * 64),
        ("registry.example.com:5000/ml/mnist", None),
    ],
)
def test_version_of_the_application_is_that_of_the_image(image, version, tmp_path):
    assert write(tmp_path, image=image)[1].get("appVersion") == version


def test_facts_of_the_job_replace_those_that_tfgen_knows(tmp_path):
    _, chart = write(tmp_path / "known", code=GIT)
    assert (chart["home"], chart["sources"]) == (GIT["git"]["repository"], [GIT["git"]["repository"]])
    page = {
        "home": "https://ml.example.com/mnist",
        "sources": ["https://git.example.com/ml/mnist", "https://git.example.com/ml/data"],
        "keywords": ["mnist"],
        "maintainers": [{"name": "ML platform", "email": "ml@example.com", "url": "https://ml.example.com/team"}],
        "icon": "https://ml.example.com/mnist.svg",
    }
    folder, chart = write(tmp_path / "own", code=GIT, chart=page)
    assert {key: chart[key] for key in page} == page
    assert not re.search(r"\[(ERROR|WARNING|INFO)\]", helm_lint(folder, "--strict"))


# -- a chart repository, which this process serves --------------------------------------------------------------------


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def helm(tmp_path):
    """Return a function that runs Helm in a folder with a chart repository. The variable URL is the address."""
    (tmp_path / "repository").mkdir()
    handler = functools.partial(Silent, directory=str(tmp_path / "repository"))
    env = {f"HELM_{name}_HOME": str(tmp_path / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield lambda *args: Command(
            (helm_program(), *(url if arg == "URL" else arg for arg in args)), cwd=tmp_path, env=env
        ).run()
        server.shutdown()
        thread.join()


def push(helm, checkout, **spec):
    """Render a job into a checkout and push its chart. Return the version of the chart."""
    folder, chart = write(checkout, **spec)
    helm("package", folder, "--destination", "repository")
    helm("repo", "index", "repository")
    helm("repo", "add", "charts", "URL", "--force-update")
    return chart["version"]


def pulled(helm, folder, constraint):
    """Return the version that a version range finds."""
    helm("pull", "charts/mnist", "--version", constraint, "--destination", folder, "--untar")
    version = yaml.safe_load((folder / "mnist" / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    shutil.rmtree(folder)
    return version


def test_newest_chart_is_found_without_devel(helm, tmp_path):
    """The last chart has the content of the first chart again, and is the newest chart."""
    first, _, last = [push(helm, tmp_path / "checkout", retries=retries) for retries in (1, 2, 1)]
    assert first.split(".")[2] == last.split(".")[2]
    (chart,) = json.loads(helm("search", "repo", "mnist", "--output", "json"))
    assert chart["version"] == last
    assert [pulled(helm, tmp_path / "pulled", constraint) for constraint in ("^1.0.0", "1.x", "*")] == [last] * 3
    assert pulled(helm, tmp_path / "pulled", first) == first


def test_each_of_two_charts_with_one_number_is_found_by_its_own_version(helm, tmp_path):
    versions = [push(helm, tmp_path / f"branch-{branch}", retries=branch) for branch in (1, 2)]
    assert [pulled(helm, tmp_path / "pulled", version) for version in versions] == versions
