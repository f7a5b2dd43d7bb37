"""Tests of the session of the server without a client."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types

from tfgen.lsp.session import Session


def test_an_error_of_tfgen_is_told_and_the_server_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise TypeError("unhashable type")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tfgen.lsp.session.analyse", fail)
    messages: list[types.ShowMessageParams] = []
    editor: Any = SimpleNamespace(window_show_message=messages.append)
    session = Session(editor)
    session.check(session.open((tmp_path / "job.yaml").as_uri(), "kind: TrainingJob\n"))
    assert [message.message for message in messages] == [
        "internal error: TypeError: unhashable type; tfgen check --debug job.yaml shows the cause"
    ]
