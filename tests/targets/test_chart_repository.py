"""Versions of a chart in a chart repository: the results of `helm search repo`, version ranges and exact versions."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command import Command
from tests.support.small_job import JOB
from tests.support.tools import helm_program
from tfgen.targets.render import render
from tfgen.tree.write import apply, plan_write


class Charts:
    """Helm with one chart repository, which this process serves.

    Attributes:
        versions: The pushed versions, in order.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.versions = folder, url, list[str]()
        self._env = {
            "HELM_CACHE_HOME": str(folder / "cache"),
            "HELM_CONFIG_HOME": str(folder / "config"),
            "HELM_DATA_HOME": str(folder / "data"),
        }

    def helm(self, *args: str | Path) -> str:
        return Command((helm_program(), *args), cwd=self.folder, env=self._env).run()

    def push(self, checkout: Path, **spec: Any) -> str:
        """Render a job into a checkout and push its chart. Return the version of the chart."""
        job = yaml.safe_load(JOB)
        job["spec"] |= spec
        apply(plan_write(checkout, [render(job)], force=False))
        chart = checkout / "charts" / "mnist"
        self.helm("package", chart, "--destination", "repository")
        self.helm("repo", "index", "repository")
        self.versions.append(_version(chart))
        return self.versions[-1]

    def search(self) -> str:
        """Return the version that `helm search repo` shows."""
        self.helm("repo", "add", "charts", self.url, "--force-update")
        (chart,) = json.loads(self.helm("search", "repo", "mnist", "--output", "json"))
        return str(chart["version"])

    def depend(self, constraint: str) -> str:
        """Return the version that a parent chart with this dependency receives."""
        parent = self.folder / "parent"
        shutil.rmtree(parent, ignore_errors=True)
        parent.mkdir()
        dependency = {"name": "mnist", "version": constraint, "repository": self.url}
        chart = {"apiVersion": "v2", "name": "parent", "version": "0.1.0", "dependencies": [dependency]}
        (parent / "Chart.yaml").write_text(yaml.safe_dump(chart), encoding="utf-8")
        self.helm("dependency", "update", parent)
        (package,) = (parent / "charts").iterdir()
        shutil.unpack_archive(package, parent / "unpacked", "gztar", filter="data")
        return _version(parent / "unpacked" / "mnist")


def _version(chart: Path) -> str:
    version: str = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))["version"]
    return version


@pytest.fixture
def charts(tmp_path: Path) -> Iterator[Charts]:
    repository = tmp_path / "repository"
    repository.mkdir()
    handler = functools.partial(_Silent, directory=str(repository))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Charts(tmp_path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_the_newest_is_found_without_devel(charts, tmp_path):
    """The last chart has the content of the first chart again, and is the newest chart."""
    first, _, last = [charts.push(tmp_path / "checkout", retries=retries) for retries in (1, 2, 1)]
    assert first.split(".")[2] == last.split(".")[2]
    assert charts.search() == last
    assert [charts.depend(constraint) for constraint in ("^1.0.0", "1.x", "*")] == [last] * 3
    assert charts.depend(first) == first


def test_each_of_two_charts_with_one_number_is_found_by_its_own_version(charts, tmp_path):
    """Two pushed branches have charts with one number, and Helm finds each chart by its version."""
    for branch in (1, 2):
        charts.push(tmp_path / f"branch-{branch}", retries=branch)
    assert [charts.depend(version) for version in charts.versions] == charts.versions
