"""The language server, which receives the messages of an editor and sends the answers.

pygls reads and writes the messages. The working directory of the server is the folder that the editor opens, so that
problems name files as `tfgen check` does in this folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tfgen import __version__
from tfgen.job.sources import FILE
from tfgen.lsp.answers import explain_key, set_or_enforced
from tfgen.lsp.session import Session

_DEFAULTS_ON_DISK: Final = types.Registration(
    "tfgen.yaml",
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(f"**/{FILE}")]),
)


def serve(output: BinaryIO) -> bool:
    """Answer the messages of an editor on standard input until the message `exit`, or until the input ends.

    Return False after a message `exit` without a message `shutdown` before, for which the protocol defines exit code 1.

    Args:
        output: the stream for the answers. pygls closes its stream at the end, so pygls gets a copy.
    """
    # With this kind, pygls does not apply changes of ranges itself: see `Session.change`.
    server = LanguageServer("tfgen", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = Session(server)
    _take_texts(server, session)
    _answer_requests(server, session)
    ends: list[str] = []
    server.feature(types.SHUTDOWN)(lambda _: ends.append(types.SHUTDOWN))
    server.feature(types.EXIT)(lambda _: ends.append(types.EXIT))
    server.start_io(stdout=os.fdopen(os.dup(output.fileno()), "wb"))
    return ends != [types.EXIT]


def _take_texts(server: LanguageServer, session: Session) -> None:
    """Register the handlers that check files when the editor opens or changes a file, or after changes on disk."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        if (root := server.workspace.root_path) and Path(root).is_dir():
            os.chdir(root)
        workspace = server.client_capabilities.workspace
        if workspace and (files := workspace.did_change_watched_files) and files.dynamic_registration:
            await server.client_register_capability_async(types.RegistrationParams([_DEFAULTS_ON_DISK]))

    # pygls runs an async handler later. The next two handlers are not async, so that each request sees the new text.
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        session.check_soon(session.open(params.text_document.uri, params.text_document.text), pause=0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.check_soon(session.change(params.text_document.uri, params.content_changes))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.remove(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(_: types.DidChangeWatchedFilesParams) -> None:
        session.check_all_soon()


def _answer_requests(server: LanguageServer, session: Session) -> None:
    """Register the handlers for the requests of an editor: hover, quick fix, completion and go to definition."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        found = session.find(params.text_document.uri, params.position)
        text = explain_key(*found) if found else None
        if found is None or text is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text}```")
        return types.Hover(content, session.span(params.text_document.uri, found[1]))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return session.actions(params.text_document.uri, params.range)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", "{", "["]))
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        return session.choices(params.text_document.uri, params.position)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        found = session.find(params.text_document.uri, params.position)
        document = found[0].accepted_at(found[1].root) if found else None
        places = set_or_enforced(document, found[1].path) if found and document else ()
        return [session.location(place) for place in places]
