"""Commands of the real tools for tests: Helm 4, kustomize and kubeconform.

Each function runs the tool and returns the output of the tool. If the tool fails or warns, the test fails and shows
the command:

    chart = helm_template(Path("charts/dist-mnist"), "dist-mnist", "--skip-tests", "--set", "image=a:1")
    overlay = kustomize_build(Path("overlays/dist-mnist/dev"))
    kubeconform(overlay)

helm-python-sdk runs Helm 4 in this process, unless a command has an option that only the program has. The environment
variable of a tool (HELM, KUSTOMIZE, KUBECONFORM, ACTIONLINT) sets its program; a wrong variable is an error. The
default is the program in the cache that tests/e2e/tools/build fills, and then the program on PATH. Without kustomize,
`kubectl kustomize` runs kustomize. If a test has no program, pytest skips the test, or fails with --no-skips.
"""

from __future__ import annotations

import atexit
import functools
import importlib.resources
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.command import WITHOUT_COLLECTION, Command
from tests.support.helm import Helm, HelmLibrary, HelmProgram

ROOT = Path(__file__).parents[2]
"""The root of the checkout."""

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfgen" / "bin"
"""Folder of the programs that tests/e2e/tools/build built."""

LEAST_KUBERNETES = "1.31.0"
"""The oldest Kubernetes version that the rendered objects support."""


def helm_template(chart: Path, release: str, *args: str) -> str:
    """Return the objects, as YAML, that `helm template RELEASE CHART ARGS...` prints.

    Raises:
        CommandError: Helm refuses the chart or its values, or warns. `stderr` is Helm's message.
    """
    return helm().template(chart, release, *args)


def helm_lint(chart: Path, *args: str) -> str:
    """Return the findings of `helm lint CHART ARGS...` that do not fail the command. With `--strict`, a warning fails.

    Raises:
        CommandError: A finding fails the command. `stdout` contains the findings.
    """
    return helm().lint(chart, *args)


def kustomize_build(folder: Path) -> str:
    """Return the objects, as YAML, that `kustomize build FOLDER` prints.

    Raises:
        CommandError: kustomize refuses the folder, or warns, for example about deprecated fields.
    """
    return Command((*_kustomize(), folder), env=WITHOUT_COLLECTION).run(silent=True)


def kubeconform(
    manifest: str, *, schemas: Iterable[str] = (), kubernetes: str = LEAST_KUBERNETES, unknown: Iterable[str] = ()
) -> None:
    """Validate a stream of objects against the schemas of Kubernetes, and refuse unknown fields.

    Args:
        manifest: YAML documents.
        schemas: Locations of additional schemas, for custom kinds, in the format of kubeconform's `-schema-location`.
        kubernetes: The version, as in LEAST_KUBERNETES.
        unknown: Kinds without a schema, whose objects are skipped: those of a job's own `objects`.

    Raises:
        CommandError: An object is wrong, or its kind has no schema. `stdout` names the object and the error.
    """
    core = f"{kubernetes_schemas(kubernetes)}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    locations = [arg for location in (core, *schemas) for arg in ("-schema-location", location)]
    # Each additional kubeconform worker would compile the schemas again.
    flags = ("-n", "1", "-strict", "-skip", ",".join(unknown), *locations)
    Command((_kubeconform(), *flags, "-"), env=WITHOUT_COLLECTION, stdin=manifest).run()


def skip_without(tool: str, target: str) -> NoReturn:
    """Skip the current test until the tool exists."""
    pytest.skip(f"needs {tool}: see `make {target}`")


def helm() -> Helm:
    """Return the Helm that helm_template and helm_lint use."""
    return HelmProgram(helm_program()) if "HELM" in os.environ else HelmLibrary(lambda: HelmProgram(helm_program()))


def helm_program() -> Path:
    """Return the `helm` program, for tests of its warnings, and of Helm with a cluster."""
    program = _program("helm", majors=range(4, 5))
    if not program:
        skip_without("helm 4", "tools")
    return program


def oldest_helm_program() -> Path:
    """Return the oldest `helm` program that the charts support."""
    program = shutil.which("helm-3.14", path=CACHE)
    if not program:
        skip_without("helm 3.14", "tools")
    return Path(program)


def kustomize_program() -> Path:
    """Return the `kustomize` program, for a test whose program calls kustomize."""
    program = _program("kustomize", majors=range(5, 100))
    if not program:
        skip_without("kustomize 5", "tools")
    return program


def actionlint_program() -> Path:
    """Return the `actionlint` program, which checks GitHub workflows."""
    program = _program("actionlint")
    if not program:
        skip_without("actionlint", "tools")
    return program


def shell_program(name: str) -> Path:
    """Return an interactive shell: bash, zsh or fish."""
    program = shutil.which(name)
    if not program:
        skip_without(f"the shell {name}", "shells")
    return Path(program)


@functools.cache
def _kustomize() -> tuple[str | Path, ...]:
    """Return the words of the command before the name of the folder."""
    if program := _program("kustomize", majors=range(5, 100)):
        return (program, "build")
    kubectl = shutil.which("kubectl")
    # A kubectl that does not print its kustomize version contains a kustomize before 5.
    if not kubectl or "kustomizeVersion: v5" not in Command((kubectl, "version", "--client", "--output=yaml")).run():
        skip_without("kustomize 5, or a kubectl that has it", "tools")
    return (kubectl, "kustomize")


@functools.cache
def _kubeconform() -> Path:
    program = _program("kubeconform")
    if not program:
        skip_without("kubeconform", "tools")
    return program


@functools.cache
def _program(name: str, majors: range | None = None) -> Path | None:
    """Return the path of a program, of any version or of one of the given major versions."""
    variable = name.upper()
    chosen = os.environ.get(variable)
    places = (shutil.which(chosen),) if chosen else (shutil.which(name, path=CACHE), shutil.which(name))
    for place in places:
        if place and (majors is None or _major(Command((place, "version")).run()) in majors):
            return Path(place)
    if chosen:
        pytest.fail(f"{variable}={chosen}: no such program, or not of a version that the tests are for")
    return None


def _major(text: str) -> int | None:
    """Return the first number of the first version in a text, for example 5 for `v5.8.1`."""
    version = re.search(r"\bv(\d+)\.", text)
    return int(version[1]) if version else None


@functools.cache
def kubernetes_schemas(version: str) -> Path:
    """Return a folder of Kubernetes' own schemas, in the format of kubeconform, until this process ends.

    The schemas come from PyPI's kubernetes-validate, which saves a download. They refer to each other by addresses in
    the web, which kubeconform would follow; the folder has file names in place of the addresses.
    """
    package = importlib.resources.files("kubernetes_validate")
    folder = Path(tempfile.mkdtemp(prefix="kubernetes-schemas-"))
    atexit.register(shutil.rmtree, folder)
    for source in (package / "kubernetes-json-schema" / f"v{version}-local-strict").iterdir():
        schema = json.loads(source.read_text(encoding="utf-8").replace('"/api/_definitions.json', '"_definitions.json'))
        schema.pop("$id", None)
        (folder / source.name).write_text(json.dumps(schema), encoding="utf-8")
    return folder
