"""Helm in two forms with the same answers: the program, and Helm's Go code in this process from PyPI's helm-python-sdk.

The library needs no program, and takes 2 ms for a chart; the program takes 50 ms. Tests call both through
tests/support/tools.py.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.support.command import WITHOUT_COLLECTION, Command, CommandError


class Helm(Protocol):
    """The commands of Helm that tests use. Each method returns the output of its command."""

    def template(self, chart: Path, release: str, *args: str) -> str:
        """Run `helm template RELEASE CHART ARGS...`."""
        ...

    def lint(self, chart: Path, *args: str) -> str:
        """Run `helm lint CHART ARGS...`."""
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
        # The user's cluster and default namespace must not affect the output.
        own = {"KUBECONFIG": os.devnull, "HELM_NAMESPACE": "default"}
        return Command((self.path, *args), env={**WITHOUT_COLLECTION, **own})


@dataclass(frozen=True)
class HelmLibrary:
    """Helm's Go code, called in this process. The program runs a command with an option that the library lacks."""

    program: Callable[[], Helm]

    def template(self, chart: Path, release: str, *args: str) -> str:
        import helm_python

        command = Command(("helm", "template", release, chart, *args))
        options = _options(command.argv)
        # The library renders no test of a chart among the objects.
        if options is None or not (options.skip_tests or options.show_only):
            return self.program().template(chart, release, *args)
        try:
            values = _values(options)
            if options.show_only:
                with helm_python.Chart.load(chart) as loaded:
                    files = loaded.render(values, name=release, namespace=options.namespace)
                    return files[f"{loaded.name}/{options.show_only}"]
            # In Helm too, `helm template` is an install that stops before the cluster.
            with helm_python.Config(storage_driver="memory", namespace=options.namespace) as config:
                installed = config.install(chart, release, values, namespace=options.namespace, dry_run="client")
                return str(installed.get("manifest", ""))  # missing if the chart renders no object
        except helm_python.HelmError as error:
            raise CommandError(command, 1, "", f"Error: {error}") from error

    def lint(self, chart: Path, *args: str) -> str:
        import helm_python

        command = Command(("helm", "lint", chart, *args))
        options = _options(command.argv)
        if options is None:
            return self.program().lint(chart, *args)
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
"""Helm's options for single values, in the order in which Helm applies them, with the library's parser of each."""


def _options(argv: Sequence[str | Path]) -> argparse.Namespace | None:
    """Parse Helm's options. Return None if the library lacks an option."""
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
    return None if unknown else options


def _values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values of all files and options, merged as Helm merges them."""
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
