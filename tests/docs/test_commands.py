"""Tests that run every command in a document.

A block marked ``console`` is a session: the test runs its commands in order in an empty folder, and compares the lines
below each command (see `sessions`). A block marked ``console training`` needs TensorFlow, and tests/train runs the
block. A block marked ``console cluster`` needs a cluster, and tests/e2e/node/test_tutorial.py runs the block. Other
commands are lines with an indentation of four. The match statement names the test that runs each of these commands.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from curves import RUNS
from tests.support.repository import tfgen
from tests.support.sessions import TUTORIAL, run_session, whole_session
from tests.support.tools import ROOT, helm_template, kustomize_build
from tfgen.cli.parser import read_arguments
from tfgen.report.diff import OWN_OBJECTS

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])
SESSION = re.compile(r"```console\n(.*?)```", re.DOTALL)
TOOLS = ("bash", "docker", "git", "helm", "kubectl", "kustomize", "make", "pip", "pytest", "python", "python3", "tfgen")
INDENTED = re.compile(rf"^    (?:\$ )?((?:{'|'.join(TOOLS)}) .*)$", re.MULTILINE)

BLOCK = re.compile(r"^```(?:yaml|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
IN_A_CLUSTER = frozenset(
    command
    for path in (ROOT / "tests" / "e2e" / "server").glob("test_live*.py")
    for command in re.findall(r"^def test_(\w+)_needs_the_role_of_its_page", path.read_text("utf-8"), re.MULTILINE)
)
"""Commands of tfgen that tests run in a cluster with the Roles of docs/live.md."""


def sessions() -> list[object]:
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    return [
        pytest.param(session, id=f"{path}-{number}", marks=[pytest.mark.long] if "git init" in session else [])
        for path, text in texts.items()
        for number, session in enumerate(_sessions_of(path.name, text), start=1)
    ]


def _sessions_of(name: str, text: str) -> list[str]:
    return [whole_session(text)] if name == TUTORIAL else SESSION.findall(text)


def commands() -> list[object]:
    found = [
        (path, command.partition("  #")[0].strip())
        for path in DOCUMENTS
        for command in INDENTED.findall(path.read_text(encoding="utf-8"))
    ]
    return [
        pytest.param(*pair, id=f"{pair[0].relative_to(ROOT)}: {pair[1]}")
        for pair in dict.fromkeys(found)
        if pair[0].name != "live.md"
    ]


def test_a_command_that_looks_at_a_cluster_is_run_where_there_is_one() -> None:
    page = (ROOT / "docs" / "live.md").read_text(encoding="utf-8")
    names = {command.split()[1] for command in INDENTED.findall(page)}
    assert names == IN_A_CLUSTER


@pytest.mark.parametrize("session", sessions())
def test_a_session_prints_what_the_document_shows(
    session: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_session(session, tmp_path, tmp_path_factory.mktemp("temporary"))


def test_the_program_of_the_tutorial_is_a_file_of_the_repository() -> None:
    program = (ROOT / "docs" / "tutorial" / "train.py").read_text(encoding="utf-8")
    assert f"```python jobs/digits/train.py\n{program}```\n" in (ROOT / "docs" / TUTORIAL).read_text(encoding="utf-8")


@pytest.mark.parametrize(("document", "command"), commands())
def test_a_command_of_a_document_is_run(  # noqa: C901 - a branch a command
    document: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command.replace("NAME", "dist-mnist").replace("ENV", "dev"))
    match words:
        case ["bash", script]:
            assert (ROOT / script).is_file()
        case ["make", target, *_]:
            assert f"make {target}" in CI or f"\n{target}:" in MAKEFILE
        case ["helm", "template" | "install" | "upgrade", release, chart, *options]:
            known = [option for option in options if option not in ("--reuse-values", "--skip-tests")]
            assert "kind:" in helm_template(rendered(chart), release, "--skip-tests", *known)
        case ["tfgen", "render", path]:
            assert ROOT / path in ROOT.glob("examples/*/job.yaml")  # `make drift` renders each example
        case ["tfgen", name, *_] if name in IN_A_CLUSTER - {"plan", "import"}:
            assert read_arguments(words[1:]).run
        case ["tfgen", "draw", path]:
            tfgen("draw", str(ROOT / path))
        case ["tfgen", "site", path, "--out", folder]:
            tfgen("site", str(ROOT / path), "--out", str(tmp_path / folder))
        case ["tfgen", "local", path, "--env", "dev"]:
            # tests/train/test_local.py runs each of these examples with this command.
            trained = (ROOT / "tests" / "train" / "test_local.py").read_text(encoding="utf-8")
            assert (ROOT / path).is_file()
            assert f'"{Path(path).parent.name}"' in trained
        case ["tfgen", "local", path, *options] if (ROOT / path).parent.parent.name == "examples":
            assert " ".join(options) == RUNS[Path(path).parent.name]  # `make curves` runs the command
        case _ if "tfgen import" in command:
            monkeypatch.chdir(tmp_path)
            run_import(document.read_text(encoding="utf-8"), command, monkeypatch)
        case ["tfgen", "rerun", "job.yaml", *_]:
            job = tmp_path / "job.yaml"
            job.write_bytes((ROOT / "examples" / "dist-mnist" / "job.yaml").read_bytes())
            tfgen(*([str(job) if word == "job.yaml" else word for word in words[1:]]))
        case ["tfgen", "rm", "job.yaml", *options]:
            job = tmp_path / "job.yaml"
            job.write_bytes((ROOT / "examples" / "dist-mnist" / "job.yaml").read_bytes())
            # --force deletes a file that git does not have.
            tfgen("rm", str(job), *options, "--out", str(tmp_path), *([] if options else ["--force"]))
            assert job.exists() == bool(options)
        case ["kubectl", "patch", "deployment", *_, path]:
            # tests/e2e/gitops/test_rendered_elsewhere.py applies the patch to Argo CD's own Deployment.
            assert (ROOT / path).is_file()
        case ["kubectl", "apply" | "patch", *_, "--filename" | "--patch-file", path]:
            tfgen("init", "mnist", "--repo", "--out", str(tmp_path))
            team = tmp_path / "tfgen.yaml"
            team.write_text(team.read_text(encoding="utf-8").replace("# flux:", "flux:"), encoding="utf-8")
            tfgen("render", str(tmp_path / "jobs"), "--out", str(tmp_path))
            there = tmp_path / path
            files = sorted(there.glob("*.yaml")) if there.is_dir() else [there]
            assert files
            assert all("kind:" in file.read_text(encoding="utf-8") for file in files)
        case ["kubectl", "delete", kind, _, "--namespace", _]:
            # tests/e2e/gitops/test_hand_written.py deletes an object of this kind.
            assert any(line.startswith(command) for line in OWN_OBJECTS), kind
        case ["kubectl", "apply", *_, "-k", overlay]:
            # tests/equal/test_examples.py builds each overlay of the examples.
            # tests/e2e/server/test_accepted.py runs the command with --dry-run=server.
            assert (rendered(overlay) / "kustomization.yaml").is_file()
        case ["git", "config", "merge.tfgen.driver", driver]:
            # tests/commands/test_merge.py merges with this driver.
            tfgen("init", "mnist", "--repo", "--out", str(tmp_path))
            attributes = (tmp_path / ".gitattributes").read_text(encoding="utf-8")
            assert f"git config merge.tfgen.driver '{driver}'" in attributes
        case ["docker", "build" | "push", *_] if document.name == TUTORIAL:
            # tests/e2e/node/test_tutorial.py loads the image of the tutorial's Dockerfile with this name.
            assert words[-1] == "jobs/digits" or words[-1] in document.read_text(encoding="utf-8")
        case ["docker", "build", *_, context]:
            # No container engine runs here, so the test checks only that the files of the COPY instructions exist.
            near = document.parent / context
            folder = near if (near / "Dockerfile").is_file() else ROOT / context
            copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (folder / "Dockerfile").read_text(encoding="utf-8"), re.M)
            assert copied
            assert all((folder / name).exists() for names in copied for name in names.split())
        case ["docker", "run", "--rm", "--network", "host", "--env-file", _, _]:
            # No container engine runs here, so the test checks only the TF_CONFIG of the page.
            (config,) = re.findall(r"^TF_CONFIG=(.*)$", document.read_text(encoding="utf-8"), re.M)
            task = json.loads(config)["task"]
            assert len(json.loads(config)["cluster"][task["type"]]) == 2
            assert task["index"] == 0
        case ["pip", "install", "-r", requirements]:
            assert (document.parent / requirements).is_file() or (ROOT / requirements).is_file()
        case ["pip", "install", builder]:
            # tests/project/test_release.py builds the wheel.
            assert f'requires = ["{builder}"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        case ["python", "-m", module, *_]:
            # tests/e2e/server/test_harness.py runs the cluster for a user. tests/timings runs the commands of that
            # folder.
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()
        case ["pytest", path, *options]:
            # `make e2e` runs all these tests.
            files = [ROOT / path] if path.endswith(".py") else [*(ROOT / path).rglob("test_*.py")]
            word = options[1] if options[:1] == ["-k"] else ""
            assert any(word in file.stem for file in files if file.is_file())
        case ["python" | "python3", program, *_]:
            # tests/train runs the programs of the examples.
            assert (ROOT / program).is_file() or (document.parent / program).is_file()
        case _:
            raise AssertionError(f"{document.name}: nothing here runs {command!r}")


LIVE = {
    "tfjob": "tfjob-live",
    "tfjobs": "tfjob-live",
    "jobs": "volcano-scripts",
    "jobsets": "jobset",
    "trainjobs": "trainjob",
    "statefulsets": "hand-written-live",
}
"""Kind in a command of kubectl -> the case of tests/importers with such objects."""


def rendered(path: str) -> Path:
    """Return the path of a rendered file in this repository. `make demo` renders an equal file into demo/."""
    return ROOT / path.removeprefix("demo/")


def run_import(document: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `tfgen import` in an empty folder, with the files of a document or with the output of another command."""
    source, _, importing = command.rpartition(" | ")
    words = shlex.split(importing)[1:]
    if source:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(manifest_of(source).encode())))
    for name in re.findall(r"[^\s=]+\.(?:yaml|sh)", " ".join(words[:-1])):
        Path(name).write_text(first_block(document.split(f"`{name}`", 1)[1]), encoding="utf-8")
    tfgen(*words)
    out = Path(words[-1])
    job = next(out.glob("*/job.yaml") if out.is_dir() else iter([out])).read_text(encoding="utf-8")
    assert "kind: TrainingJob" in job if source else job == first_block(document.split(command, 1)[1])


def first_block(text: str) -> str:
    """Return the first file in a document."""
    block = BLOCK.search(text)
    assert block
    return block[1]


def manifest_of(command: str) -> str:
    """Return the manifest that a command prints for a release, for an overlay, or for a job in an API server."""
    match command:
        case "helm get manifest mnist":
            return helm_template(rendered("charts/eks-tfjob"), "mnist", "--skip-tests")
        case "kustomize build overlays/prod":
            return kustomize_build(rendered("overlays/eks-tfjob/base"))
        case _ if kubectl := re.match(r"kubectl get ([a-z]+)", command):
            folder = ROOT / "tests" / "importers" / LIVE[kubectl[1]]
            file = next(file for name in ("stdin.yaml", "manifest.yaml") if (file := folder / name).exists())
            return file.read_text(encoding="utf-8")
        case _:
            raise AssertionError(f"nothing here prints what {command!r} does")
