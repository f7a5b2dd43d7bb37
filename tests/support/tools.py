"""Commands of the real tools for tests: Helm 4, kustomize and kubeconform.

Each function is the tool's command with its output as the result; where the tool fails, or warns, the test
fails with the command to try by hand:

    chart = helm_template(Path("charts/dist-mnist"), "dist-mnist", "--skip-tests", "--set", "image=a:1")
    overlay = kustomize_build(Path("overlays/dist-mnist/dev"))
    kubeconform(overlay)

A tool is taken from its environment variable (HELM, KUSTOMIZE, KUBECONFORM), which must be right, else from
the cache that tests/e2e/tools/build fills, else from PATH. Failing that, Helm is run by helm-python-sdk and
kustomize as `kubectl kustomize`; and failing that the test is skipped, or fails where pytest runs with --no-skips.
"""

from __future__ import annotations

import atexit
import functools
import importlib.resources
import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.again import want
from tests.support.command import WITHOUT_COLLECTION, Command
from tests.support.helm import Helm, HelmLibrary, HelmProgram

ROOT = Path(__file__).parents[2]
"""The checkout."""

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfgen" / "bin"
"""Where tests/e2e/tools/build leaves what it built."""

LEAST_KUBERNETES = "1.31.0"
"""The oldest Kubernetes that the rendered objects are for."""


def helm_template(chart: Path, release: str, *args: str) -> str:
    """The objects, as YAML, that `helm template RELEASE CHART ARGS...` prints.

    Raises:
        CommandError: Where Helm refuses the chart or its values, or warns; `stderr` is Helm's message.
    """
    return helm().template(chart, release, *args)


def helm_lint(chart: Path, *args: str) -> str:
    """The findings of `helm lint CHART ARGS...` where they are not worth a failure (with `--strict`, no warning).

    Raises:
        CommandError: On findings that are; `stdout` has them.
    """
    return helm().lint(chart, *args)


def kustomize_build(folder: Path) -> str:
    """The objects, as YAML, that `kustomize build FOLDER` prints.

    Raises:
        CommandError: Where kustomize refuses the folder, or warns, as it does of deprecated fields.
    """
    return Command((*_kustomize(), folder), env=WITHOUT_COLLECTION).run(silent=True)


def kubeconform(
    manifest: str, *, schemas: Iterable[str] = (), kubernetes: str = LEAST_KUBERNETES, unknown: Iterable[str] = ()
) -> None:
    """Holds a stream of objects against Kubernetes' own schemas, unknown fields refused.

    Args:
        manifest: YAML documents.
        schemas: Locations of further schemas, for custom kinds, as kubeconform's `-schema-location` has them.
        kubernetes: The version, as in LEAST_KUBERNETES.
        unknown: Kinds that no schema knows, whose objects are left out: those of a job's own `objects`.

    Raises:
        CommandError: On an object that is wrong, or of a kind without a schema; `stdout` says which and why.
    """
    core = f"{_kubernetes_schemas(kubernetes)}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    locations = [arg for location in (core, *schemas) for arg in ("-schema-location", location)]
    # Each further worker would compile the schemas anew.
    flags = ("-n", "1", "-strict", "-skip", ",".join(unknown), *locations)
    Command((_kubeconform(), *flags, "-"), env=WITHOUT_COLLECTION, stdin=manifest).run()


def skip_without(tool: str, target: str) -> NoReturn:
    """Skips the test that runs, until the tool is there."""
    want()
    pytest.skip(f"needs {tool}: see `make {target}`")


def helm() -> Helm:
    """The Helm that helm_template and helm_lint use."""
    chosen = _helm()
    if isinstance(chosen, HelmLibrary):
        want()
    return chosen


@functools.cache
def _helm() -> Helm:
    if program := _program("helm", majors=range(4, 5)):
        return HelmProgram(program)
    if not importlib.util.find_spec("helm_python"):
        skip_without("helm 4, or PyPI's helm-python-sdk", "tools")
    return HelmLibrary()


def helm_program() -> Path:
    """The `helm` program itself, for what Helm does to a cluster."""
    program = _program("helm", majors=range(4, 5))
    if not program:
        skip_without("helm 4", "tools")
    return program


def oldest_helm_program() -> Path:
    """The oldest `helm` that the charts are for."""
    program = shutil.which("helm-3.14", path=CACHE)
    if not program:
        skip_without("helm 3.14", "tools")
    return Path(program)


def kustomize_program() -> Path:
    """The `kustomize` program itself, for what calls it."""
    program = _program("kustomize", majors=range(5, 100))
    if not program:
        skip_without("kustomize 5", "tools")
    return program


def shell_program(name: str) -> Path:
    """A shell that people type into: bash, zsh or fish."""
    program = shutil.which(name)
    if not program:
        skip_without(f"the shell {name}", "shells")
    return Path(program)


@functools.cache
def _kustomize() -> tuple[str | Path, ...]:
    """The words that a folder's name follows."""
    if program := _program("kustomize", majors=range(5, 100)):
        return (program, "build")
    kubectl = shutil.which("kubectl")
    # A kubectl too old to say which kustomize it holds has one before 5.
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
    """The first number of the first version in a text, such as 5 for `v5.8.1`."""
    version = re.search(r"\bv(\d+)\.", text)
    return int(version[1]) if version else None


@functools.cache
def _kubernetes_schemas(version: str) -> Path:
    """A folder of Kubernetes' own schemas, as kubeconform wants them, until this process ends.

    They are those of PyPI's kubernetes-validate, which saves a download. There they refer to each other by
    addresses in the web, which kubeconform would follow; here by file names.
    """
    package = importlib.resources.files("kubernetes_validate")
    folder = Path(tempfile.mkdtemp(prefix="kubernetes-schemas-"))
    atexit.register(shutil.rmtree, folder)
    for source in (package / "kubernetes-json-schema" / f"v{version}-local-strict").iterdir():
        schema = json.loads(source.read_text(encoding="utf-8").replace('"/api/_definitions.json', '"_definitions.json'))
        schema.pop("$id", None)
        (folder / source.name).write_text(json.dumps(schema), encoding="utf-8")
    return folder
