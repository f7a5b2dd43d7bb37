"""Helm in two forms that answer alike: the program, and its Go code in this process by PyPI's helm-python-sdk.

The second needs no program and takes 2 ms a chart where the first takes 50; it knows fewer options, and the
test that wants another is skipped. Tests call either by way of tests/support/tools.py.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support.command import WITHOUT_COLLECTION, Command, CommandError


class Helm(Protocol):
    """The commands that tests use; what they print is the result."""

    def template(self, chart: Path, release: str, *args: str) -> str:
        """Runs `helm template RELEASE CHART ARGS...`."""
        ...

    def lint(self, chart: Path, *args: str) -> str:
        """Runs `helm lint CHART ARGS...`."""
        ...


@dataclass(frozen=True)
class HelmProgram:
    """The `helm` program."""

    path: Path

    def template(self, chart: Path, release: str, *args: str) -> str:
        return self._command("template", release, chart, *args).run(silent=True)

    def lint(self, chart: Path, *args: str) -> str:
        return self._command("lint", chart, *args).run()

    def _command(self, *args: str | Path) -> Command:
        # No one's cluster or default namespace may show in what is rendered.
        own = {"KUBECONFIG": os.devnull, "HELM_NAMESPACE": "default"}
        return Command((self.path, *args), env={**WITHOUT_COLLECTION, **own})


class HelmLibrary:
    """Helm's own code, called in this process."""

    def template(self, chart: Path, release: str, *args: str) -> str:
        import helm_python

        command = Command(("helm", "template", release, chart, *args))
        options = _options(command.argv)
        if not (options.skip_tests or options.show_only):
            pytest.skip("helm-python-sdk leaves out a chart's tests: needs helm (`make tools`), or --skip-tests")
        try:
            values = _values(options)
            if options.show_only:
                with helm_python.Chart.load(chart) as loaded:
                    files = loaded.render(values, name=release, namespace=options.namespace)
                    return files[f"{loaded.name}/{options.show_only}"]
            # What `helm template` is in Helm, too: an install that stops before the cluster.
            with helm_python.Config(storage_driver="memory", namespace=options.namespace) as config:
                installed = config.install(chart, release, values, namespace=options.namespace, dry_run="client")
                return str(installed.get("manifest", ""))  # left out where a chart makes nothing
        except helm_python.HelmError as error:
            raise CommandError(command, 1, "", f"Error: {error}") from error

    def lint(self, chart: Path, *args: str) -> str:
        import helm_python

        command = Command(("helm", "lint", chart, *args))
        options = _options(command.argv)
        try:
            report = helm_python.lint(chart, _values(options), strict=options.strict)
        except helm_python.HelmError as error:
            raise CommandError(command, 1, "", f"Error: {error}") from error
        names = ("UNKNOWN", "INFO", "WARNING", "ERROR")
        messages = report["messages"]
        text = "".join(
            f"[{names[message['severity']]}] {message['path']}: {message['error']}\n" for message in messages
        )
        if any(names[message["severity"]] in ("ERROR", "WARNING" if options.strict else "") for message in messages):
            raise CommandError(command, 1, text, "")
        return text


_SETTERS = {
    "set-json": "parse_set_json",
    "set": "parse_set_string",
    "set-string": "parse_set_string_values",
    "set-literal": "parse_set_literal",
}
"""Helm's options for single values, in the order in which Helm applies them, and the library's readers of them."""


def _options(argv: Sequence[str | Path]) -> argparse.Namespace:
    """Reads Helm's options; skips the test on one that is unknown here."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    parser.add_argument("-f", "--values", action="append", default=[])
    for name in _SETTERS:
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("-n", "--namespace", default="default")
    parser.add_argument("--show-only")
    parser.add_argument("--skip-tests", action="store_true")
    parser.add_argument("--strict", action="store_true")
    options, unknown = parser.parse_known_args([str(arg) for arg in argv])
    if unknown:
        pytest.skip(f"helm-python-sdk has no {shlex.join(unknown)}: needs helm (`make tools`)")
    return options


def _values(options: argparse.Namespace) -> dict[str, Any]:
    """The values of all files and settings, merged as Helm does."""
    import helm_python

    merged: dict[str, Any] = {}
    for path in options.values:
        merged = _merge(merged, helm_python.values_from_yaml(Path(path).read_text(encoding="utf-8")))
    for option, reader in _SETTERS.items():
        for expression in getattr(options, option.replace("-", "_")):
            merged = _merge(merged, getattr(helm_python, reader)(expression))
    return merged


def _merge(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], dict) and isinstance(over[key], dict):
            merged[key] = _merge(under[key], over[key])
    return merged
