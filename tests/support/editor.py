"""An editor that talks with `tfgen lsp` over standard input and output, with the client of pygls."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LIMIT = 20
"""Seconds for an answer. A slower server fails the test."""

WATCHES = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)


class Editor:
    """A client with its folder, and the last diagnostics of each file."""

    def __init__(self, root: Path) -> None:
        self.client = LanguageClient("test", "1")
        self.names: list[str] = []
        self.registered: list[types.Registration] = []
        self._root = root
        self._diagnostics: asyncio.Queue[tuple[str, list[types.Diagnostic]]] = asyncio.Queue()
        self._messages: asyncio.Queue[str] = asyncio.Queue()
        self._versions: dict[str, int] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            name = self._name(params.uri)
            self.names.append(name)
            self._diagnostics.put_nowait((name, [*params.diagnostics]))

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.registered += params.registrations

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self._messages.put_nowait(params.message)

    def uri(self, name: str) -> str:
        return (self._root / name).as_uri()

    def document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str) -> None:
        item = types.TextDocumentItem(self.uri(name), "yaml", 0, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        self._change(name, types.TextDocumentContentChangeWholeDocument(text))

    def change_range(self, name: str, changed: types.Range, text: str) -> None:
        self._change(name, types.TextDocumentContentChangePartial(changed, text))

    def _change(self, name: str, change: types.TextDocumentContentChangeEvent) -> None:
        self._versions[name] = self._versions.get(name, 0) + 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def changed_on_disk(self, name: str) -> None:
        change = types.FileEvent(self.uri(name), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))

    def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document(name)))

    async def diagnostics(self, name: str) -> list[types.Diagnostic]:
        """Wait for the next diagnostics of a file."""
        while True:
            published, diagnostics = await asyncio.wait_for(self._diagnostics.get(), LIMIT)
            if published == name:
                return diagnostics

    async def hover(self, name: str, position: types.Position) -> str | None:
        answer = await self._answer(
            self.client.text_document_hover_async(types.HoverParams(self.document(name), position))
        )
        if answer is None:
            return None
        assert isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value

    async def definition(self, name: str, position: types.Position) -> list[tuple[str, int, int]]:
        """Return the targets of "go to definition": file, line and column, counted from 1."""
        parameters = types.DefinitionParams(self.document(name), position)
        answer = await self._answer(self.client.text_document_definition_async(parameters))
        return [
            (self._name(place.uri), place.range.start.line + 1, place.range.start.character + 1)
            for place in answer or ()
        ]

    async def completion(self, name: str, position: types.Position) -> list[types.CompletionItem]:
        parameters = types.CompletionParams(self.document(name), position)
        answer = await self._answer(self.client.text_document_completion_async(parameters))
        assert isinstance(answer, list)
        return answer

    async def quick_fixes(self, name: str, selected: types.Range) -> dict[str, types.TextEdit]:
        """Return the edit of each quick fix by title."""
        parameters = types.CodeActionParams(self.document(name), selected, types.CodeActionContext([]))
        answer = await self._answer(self.client.text_document_code_action_async(parameters))
        edits = {}
        for action in answer:
            assert action.kind == types.CodeActionKind.QuickFix
            ((uri, (edits[action.title],)),) = action.edit.changes.items()
            assert uri == self.uri(name)
        return edits

    async def _answer(self, request: Awaitable[Any]) -> Any:
        return await asyncio.wait_for(request, LIMIT)

    def _name(self, uri: str) -> str:
        return Path(uri.removeprefix("file://")).relative_to(self._root).as_posix()

    async def message(self) -> str:
        """Wait for the next message to the user."""
        return await asyncio.wait_for(self._messages.get(), LIMIT)


@asynccontextmanager
async def editor(root: Path) -> AsyncIterator[Editor]:
    """Open a folder in an editor. The server of the editor starts and ends with the `with` block."""
    connected = Editor(root)
    client = connected.client
    await client.start_io(sys.executable, "-m", "tfgen", "lsp", "--stdio", cwd=root.parent)
    folders = [types.WorkspaceFolder(root.as_uri(), root.name)]
    parameters = types.InitializeParams(
        types.ClientCapabilities(types.WorkspaceClientCapabilities(did_change_watched_files=WATCHES)),
        process_id=None,
        root_uri=root.as_uri(),
        workspace_folders=folders,
    )
    await asyncio.wait_for(client.initialize_async(parameters), LIMIT)
    client.initialized(types.InitializedParams())
    try:
        yield connected
    finally:
        await asyncio.wait_for(client.shutdown_async(None), LIMIT)
        client.exit(None)
        await asyncio.wait_for(client.stop(), LIMIT)
