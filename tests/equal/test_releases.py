"""The chart under other names: another release name, two releases in one namespace, and a subchart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import normal, tools
from tests.support.chart_job import JOB
from tests.support.command import CommandError
from tests.support.normal import Objects
from tests.support.rendered import Rendered


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Rendered:
    return Rendered.write(JOB, tmp_path_factory.mktemp("releases"))


@pytest.mark.parametrize(
    ("release", "named"), [("mnist", "mnist"), ("prod", "prod-mnist"), ("mnist-2", "mnist-2"), ("on", "on-mnist")]
)
def test_a_release_of_another_name(rendered, release, named):
    """The name follows the convention of charts: RELEASE if it contains the name of the chart, or RELEASE-CHART."""
    by_helm = rendered.by_helm(release=release)
    normal.assert_equal({"helm": by_helm, "tfgen": rendered.by_tfgen_as(release)})
    assert ("v1", "Service", named) in by_helm


@pytest.mark.parametrize(
    ("values", "release", "named"),
    [
        ({"nameOverride": "digits"}, "prod", "prod-digits"),
        ({"nameOverride": "digits"}, "my-digits", "my-digits"),
        ({"nameOverride": "1e3"}, "prod", "prod-1e3"),
        ({"fullnameOverride": "digits"}, "prod", "digits"),
        ({"fullnameOverride": "on", "nameOverride": "digits"}, "prod", "on"),
        ({"fullnameOverride": "digits", "run": "2"}, "prod", "digits-2"),
    ],
    ids=str,
)
def test_a_name_of_the_users_stands_wherever_the_releases_does(rendered, values, release, named):
    """The name is also in hosts, selectors, accounts, the gang and the finisher's arguments."""
    args = [argument for key, value in values.items() for argument in ("--set-string", f"{key}={value}")]
    by_helm = rendered.by_helm(*args, release=release)
    normal.assert_equal({"helm": by_helm, "tfgen": rendered.by_tfgen_as(release, **values)})
    assert ("v1", "Service", named) in by_helm
    assert {item["metadata"]["labels"]["app.kubernetes.io/name"] for item in by_helm.values()} == {
        values.get("nameOverride", "mnist")
    }
    if "fullnameOverride" in values:
        assert "prod-" not in yaml.safe_dump(list(by_helm.values()))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (f"fullnameOverride={'a' * 46}", "has 53 characters, but the name of a StatefulSet may have at most 52"),
        (f"nameOverride={'a' * 41}", "has 53 characters, but the name of a StatefulSet may have at most 52"),
        ("fullnameOverride=1e3", "/fullnameOverride"),
        ("fullnameOverride=a.b", "/fullnameOverride"),
        ("nameOverride=A", "/nameOverride"),
        ("nameOverride=a-", "/nameOverride"),
    ],
)
def test_a_name_that_makes_no_pods_is_refused(rendered, value, says):
    with pytest.raises(CommandError) as error:
        rendered.by_helm("--set-string", value, release="prod")
    assert says in error.value.stderr


def test_two_releases_share_no_object_and_no_pod(rendered):
    _hold_apart(rendered.by_helm(release="one"), rendered.by_helm(release="two"))


def test_two_runs_of_a_release_share_claims_alone(rendered):
    first, second = (rendered.by_helm("--set-string", f"run={run}") for run in ("1", "2"))
    kept = "PersistentVolumeClaim"
    assert set(first.keys() & second.keys()) == {key for key in first if key[1] == kept}
    _hold_apart(*({key: item for key, item in run.items() if key[1] != kept} for run in (first, second)))


def test_an_upgrade_without_a_cluster_to_look_at_is_what_an_installation_is(rendered):
    """Argo CD renders without a cluster. tests/e2e/server/test_immutable.py tests an upgrade with a cluster."""
    normal.assert_equal({"install": rendered.by_helm(), "upgrade": rendered.by_helm("--is-upgrade")})


@pytest.fixture
def parent(rendered, tmp_path):
    """Return a function that writes a parent chart with our chart as a dependency, and returns the folder."""

    def write(*dependencies: Mapping[str, str], values: Mapping[str, Any]) -> Path:
        version = yaml.safe_load((rendered.chart / "Chart.yaml").read_text(encoding="utf-8"))["version"]
        entries = [{"name": "mnist", "version": version, **entry} for entry in dependencies]
        shutil.copytree(rendered.chart, tmp_path / "charts" / "mnist")
        chart = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": entries}
        for name, data in (("Chart.yaml", chart), ("values.yaml", values)):
            (tmp_path / name).write_text(yaml.safe_dump(data), encoding="utf-8")
        return tmp_path

    return write


def test_as_a_subchart_with_global_values(rendered, parent):
    folder = parent({}, values={"global": {"imageRegistry": "registry.example.com"}})
    by_helm = normal.read(tools.helm_template(folder, "prod", "--skip-tests"))
    normal.assert_equal({"helm": by_helm, "tfgen": rendered.by_tfgen_as("prod")})


@pytest.mark.parametrize("enabled", [True, False])
def test_as_a_subchart_under_a_condition(rendered, parent, enabled):
    folder = parent({"condition": "mnist.enabled"}, values={"mnist": {"enabled": enabled}})
    by_helm = normal.read(tools.helm_template(folder, "prod", "--skip-tests"))
    normal.assert_equal({"helm": by_helm, "tfgen": rendered.by_tfgen_as("prod") if enabled else {}})


def test_as_a_subchart_twice(rendered, parent):
    folder = parent({"alias": "a"}, {"alias": "b"}, values={})
    by_helm = normal.read(tools.helm_template(folder, "prod", "--skip-tests"))
    one, two = rendered.by_tfgen_as("prod", "a"), rendered.by_tfgen_as("prod", "b")
    normal.assert_equal({"helm": by_helm, "tfgen": {**one, **two}})
    _hold_apart(one, two)


def _hold_apart(one: Objects, two: Objects) -> None:
    assert one.keys() & two.keys() == set()
    for mine, others in ((one, two), (two, one)):
        for selector in _selectors(mine):
            assert any(_selects(selector, pod) for pod in _pods(mine)), f"{selector} selects no pod of its own"
            assert not any(_selects(selector, pod) for pod in _pods(others)), f"{selector} selects another's pod"


def _selectors(objects: Objects) -> Iterator[Mapping[str, str]]:
    for key, item in objects.items():
        if key[1] == "Service":
            yield item["spec"]["selector"]
        yield from _match_labels(item)


def _match_labels(node: Any) -> Iterator[Mapping[str, str]]:
    if isinstance(node, Mapping):
        for key, child in node.items():
            if key == "matchLabels":
                yield child
            else:
                yield from _match_labels(child)
    elif isinstance(node, list):
        for child in node:
            yield from _match_labels(child)


def _pods(objects: Objects) -> list[Mapping[str, str]]:
    return [
        item["spec"]["template"]["metadata"]["labels"]
        for item in objects.values()
        if "template" in item.get("spec", {})
    ]


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return selector.items() <= labels.items()
