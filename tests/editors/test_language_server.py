"""The schema that `tfgen init` writes, in a real YAML language server: completion, validation and hover.

`make editors` installs the server from npm. Visual Studio Code, Neovim and other editors run this server.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import tfgen
from tests.support.tools import ROOT

INSTALLED = Path.home() / ".cache" / "tfgen" / "editors" / "node_modules" / ".bin" / "yaml-language-server"
PROGRAM = os.environ.get("YAML_LANGUAGE_SERVER") or (str(INSTALLED) if INSTALLED.exists() else "")

pytestmark = [
    pytest.mark.may_skip("the language server is a program of Node.js"),
    pytest.mark.skipif(
        not (PROGRAM and shutil.which("node")), reason="needs Node.js and yaml-language-server: see `make editors`"
    ),
]


class Editor:
    """A client of the language server protocol: https://microsoft.github.io/language-server-protocol/."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = subprocess.Popen([PROGRAM, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder)
        self.number = 0
        self.ask("initialize", {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}})
        self.send({"method": "initialized", "params": {}})

    def send(self, message: dict[str, Any]) -> None:
        assert self.server.stdin
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self.server.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next message, and answer a request of the server with null values."""
        assert self.server.stdout
        length = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self.server.stdout.read(length))
        if "method" in message and "id" in message:
            items = message.get("params", {}).get("items", ())
            self.send({"id": message["id"], "result": [None for _ in items]})
        return message

    def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        while (message := self.receive()).get("id") != number or "method" in message:
            pass
        return message["result"]

    def open(self, text: str) -> list[str]:
        """Open a job, and return the diagnostics of the server."""
        self.number += 1
        self.file = self.folder / f"job-{self.number}.yaml"
        document = {"uri": self.file.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                if params["uri"] == self.file.as_uri():
                    return [f"{one['range']['start']['line'] + 1}: {one['message']}" for one in params["diagnostics"]]

    def at(self, line: int, column: int) -> dict[str, Any]:
        place = {"line": line - 1, "character": column - 1}
        return {"textDocument": {"uri": self.file.as_uri()}, "position": place}

    def complete(self, line: int, column: int) -> set[str]:
        return {item["label"] for item in self.ask("textDocument/completion", self.at(line, column))["items"]}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("editor")
    tfgen("init", "mnist", "--out", str(folder))
    editor = Editor(folder)
    yield editor
    editor.ask("shutdown", None)
    editor.send({"method": "exit"})
    editor.server.communicate(timeout=10)


JOB = """\
# yaml-language-server: $schema=./job.schema.json
apiVersion: tfgen/v1alpha1
kind: TrainingJob
metadata: {name: mnist}
spec:
  image: registry.example.com/ml/mnist:1.4.0
  roles:
    chief: {}
    ps: {}
    worker:
      replicas: 4
      resources: {memory: 8Gi}
  environments:
    prod:
      roles:
        worker:
          replicas: 8
"""


def test_a_job_is_accepted(editor: Editor) -> None:
    assert editor.open(JOB) == []


@pytest.mark.parametrize("job", sorted((ROOT / "examples").glob("*/job.yaml")), ids=lambda job: job.parent.name)
def test_each_example_is_accepted(editor: Editor, job: Path) -> None:
    modeline, _, rest = job.read_text(encoding="utf-8").partition("\n")
    assert "$schema=" in modeline
    assert editor.open(f"# yaml-language-server: $schema=./job.schema.json\n{rest}") == []


@pytest.mark.parametrize(
    ("written", "mistake", "line", "message"),
    [
        ("replicas: 4", "replica: 4", 11, "Property replica is not allowed."),
        ("replicas: 8", "replica: 8", 17, "Property replica is not allowed."),
        ("replicas: 8", "replicas: many", 17, 'Incorrect type. Expected "integer"'),
        ("memory: 8Gi", "memory: 8 gigabytes", 12, "does not match the pattern"),
        ("  image: registry.example.com/ml/mnist:1.4.0", "  strategy: Parallel", 6, "Value is not accepted."),
    ],
)
def test_a_mistake_is_found(editor: Editor, written: str, mistake: str, line: int, message: str) -> None:
    (problem,) = editor.open(JOB.replace(written, mistake))
    assert problem.startswith(f"{line}: ")
    assert message in problem


def test_the_keys_of_a_job_are_completed(editor: Editor) -> None:
    editor.open(JOB + "  \n")
    assert {"retries", "storage", "gang", "command"} <= editor.complete(18, 3)


def test_the_keys_of_a_role_in_an_environment_are_completed(editor: Editor) -> None:
    editor.open(JOB + "          \n")
    labels = editor.complete(18, 11)
    assert {"resources", "args", "nodeSelector"} <= labels
    assert "podTemplate" not in labels  # no environment can set it


def test_the_values_of_a_key_are_completed(editor: Editor) -> None:
    editor.open(JOB + "  strategy: \n")
    assert {"ParameterServer", "MultiWorkerMirrored", "Single"} <= editor.complete(18, 13)


def test_a_key_has_its_text(editor: Editor) -> None:
    editor.open(JOB)
    hover = editor.ask("textDocument/hover", editor.at(11, 9))
    assert "Number of tasks." in json.dumps(hover)
