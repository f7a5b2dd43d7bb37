"""The chart under other names: another release name, two releases in one namespace, and a subchart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.support import normal, tools
from tests.support.chart_job import JOB
from tests.support.normal import Objects
from tests.support.rendered import Rendered


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("releases"))


NAMES = [
    # The name follows the convention of charts: RELEASE if it contains the name of the chart, or RELEASE-CHART.
    ({}, "mnist", "mnist"),
    ({}, "prod", "prod-mnist"),
    ({}, "mnist-2", "mnist-2"),
    ({}, "on", "on-mnist"),
    ({"nameOverride": "digits"}, "prod", "prod-digits"),
    ({"nameOverride": "digits"}, "my-digits", "my-digits"),
    ({"nameOverride": "1e3"}, "prod", "prod-1e3"),
    ({"fullnameOverride": "digits"}, "prod", "digits"),
    ({"fullnameOverride": "on", "nameOverride": "digits"}, "prod", "on"),
    ({"fullnameOverride": "digits", "run": "2"}, "prod", "digits-2"),
]


@pytest.mark.parametrize(("values", "release", "named"), NAMES, ids=str)
def test_name_of_a_user_replaces_the_name_of_the_release(rendered, values, release, named):
    """The name is also in hosts, selectors, accounts, the gang and the finisher's arguments."""
    args = [argument for key, value in values.items() for argument in ("--set-string", f"{key}={value}")]
    by_helm = rendered.by_helm(*args, release=release)
    normal.assert_equal({"helm": by_helm, "tfgen": rendered.by_tfgen_as(release, **values)})
    assert ("v1", "Service", named) in by_helm
    labels = {item["metadata"]["labels"]["app.kubernetes.io/name"] for item in by_helm.values()}
    assert labels == {values.get("nameOverride", "mnist")}
    if "fullnameOverride" in values:
        assert "prod-" not in yaml.safe_dump(list(by_helm.values()))


def test_two_releases_share_no_object_and_no_pod(rendered):
    _hold_apart(rendered.by_helm(release="one"), rendered.by_helm(release="two"))


def test_two_runs_of_a_release_share_only_claims(rendered):
    first, second = (rendered.by_helm("--set-string", f"run={run}") for run in ("1", "2"))
    kept = "PersistentVolumeClaim"
    assert set(first.keys() & second.keys()) == {key for key in first if key[1] == kept}
    _hold_apart(*({key: item for key, item in run.items() if key[1] != kept} for run in (first, second)))


def test_upgrade_without_a_cluster_gives_the_objects_of_an_installation(rendered):
    """Argo CD renders without a cluster. tests/e2e/server/test_immutable.py tests an upgrade with a cluster."""
    normal.assert_equal({"install": rendered.by_helm(), "upgrade": rendered.by_helm("--is-upgrade")})


@pytest.mark.parametrize(
    ("dependencies", "values", "names"),
    [
        pytest.param([{}], {"global": {"imageRegistry": "r.example.com"}}, ["mnist"], id="with global values"),
        pytest.param([{"condition": "mnist.enabled"}], {"mnist": {"enabled": True}}, ["mnist"], id="enabled"),
        pytest.param([{"condition": "mnist.enabled"}], {"mnist": {"enabled": False}}, [], id="not enabled"),
        pytest.param([{"alias": "a"}, {"alias": "b"}], {}, ["a", "b"], id="twice"),
    ],
)
def test_subchart_gives_the_objects_of_a_chart(dependencies, values, names, rendered, tmp_path):
    version = yaml.safe_load((rendered.chart / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    entries = [{"name": "mnist", "version": version, **entry} for entry in dependencies]
    shutil.copytree(rendered.chart, tmp_path / "charts" / "mnist")
    chart = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": entries}
    for name, data in (("Chart.yaml", chart), ("values.yaml", values)):
        (tmp_path / name).write_text(yaml.safe_dump(data), encoding="utf-8")
    by_helm = normal.read(tools.helm_template(tmp_path, "prod", "--skip-tests"))
    by_name = [rendered.by_tfgen_as("prod", name) for name in names]
    normal.assert_equal({"helm": by_helm, "tfgen": {key: item for each in by_name for key, item in each.items()}})
    if len(by_name) == 2:
        _hold_apart(*by_name)


def _hold_apart(one: Objects, two: Objects) -> None:
    assert one.keys() & two.keys() == set()
    for mine, others in ((one, two), (two, one)):
        for selector in _selectors(mine):
            assert any(selector.items() <= pod.items() for pod in _pods(mine)), f"{selector} selects no pod of its own"
            assert not any(selector.items() <= pod.items() for pod in _pods(others)), (
                f"{selector} selects another's pod"
            )


def _selectors(node: Any) -> Iterator[Mapping[str, str]]:
    """Yield the selectors of Services, and each matchLabels."""
    if isinstance(node, Mapping):
        if node.get("kind") == "Service" and "spec" in node:
            yield node["spec"]["selector"]
        if "matchLabels" in node:
            yield node["matchLabels"]
    for child in node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ():
        yield from _selectors(child)


def _pods(objects: Objects) -> list[Mapping[str, str]]:
    specs = (item.get("spec", {}) for item in objects.values())
    return [spec["template"]["metadata"]["labels"] for spec in specs if "template" in spec]
