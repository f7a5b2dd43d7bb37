"""The language server: messages of an editor in, records of the rooms below as types of the protocol out.

pygls reads and writes the messages. The working directory of the server is the folder that the editor opens, so that
problems name files as `tfgen check` does in this folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from tfgen import __version__
from tfgen.errors import TfgenError
from tfgen.lsp.analysis import Analysis, analyse
from tfgen.lsp.completion import complete
from tfgen.lsp.cursor import Cursor, find_key
from tfgen.lsp.definition import set_or_enforced
from tfgen.lsp.hover import explain_key
from tfgen.lsp.open_files import OpenFiles, is_checked, is_defaults
from tfgen.lsp.quick_fix import quick_fixes
from tfgen.lsp.ranges import from_lsp, to_edit, to_lsp, to_range
from tfgen.lsp.spot import find_spot
from tfgen.problems import Place, Problem, in_order
from tfgen.schema import file as schema_file

PAUSE: Final = 0.05
"""Seconds without a further key after which a file is checked."""

_SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
}


class Session:
    """The open files of one editor and their analyses, by the name of each file.

    A file that does not parse has two: the analysis with the problems, and the last one whose text did parse.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._files = OpenFiles()
        self._uris: dict[str, str] = {}
        self._analyses: dict[str, Analysis] = {}
        self._parsed: dict[str, Analysis] = {}
        self._published: set[str] = set()
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def update(self, uri: str) -> str:
        """Take the text of an open file from the editor, and return the name of the file."""
        file = file_of(uri)
        self._uris[file] = uri
        self._files.update(file, self._server.workspace.get_text_document(uri).source)
        return file

    def remove(self, uri: str) -> None:
        """Forget a closed file and its problems."""
        file = file_of(uri)
        self._files.remove(file)
        self._uris.pop(file, None)
        self._analyses.pop(file, None)
        self._parsed.pop(file, None)
        if waiting := self._waiting.pop(file, None):
            waiting.cancel()
        self.check_all() if is_defaults(file) else self._publish()

    def check(self, file: str) -> None:
        """Check a file now, and with a tfgen.yaml all open files."""
        if is_defaults(file):
            self.check_all()
        else:
            self._analyse(file)
            self._publish()

    def check_all(self) -> None:
        """Check all open files now."""
        for file in self._uris:
            self._analyse(file)
        self._publish()

    def check_soon(self, file: str) -> None:
        """Check a file after a pause in the typing."""
        if waiting := self._waiting.get(file):
            waiting.cancel()
        self._waiting[file] = asyncio.create_task(self._check_later(file))

    async def _check_later(self, file: str) -> None:
        await asyncio.sleep(PAUSE)
        self.check(file)

    def analysis(self, uri: str) -> Analysis | None:
        """Return the analysis of the text that the editor shows; None for a file that tfgen does not check."""
        file = file_of(uri)
        waiting = self._waiting.get(file)
        if waiting and not waiting.done():
            waiting.cancel()
            self.check(file)
        return self._analyses.get(file)

    def choices(self, uri: str, position: types.Position) -> list[types.CompletionItem]:
        """Return the keys, values and names that may follow; the last text without errors of YAML gives the names."""
        file, lines = file_of(uri), self._lines(uri)
        at = from_lsp(self._codec, lines, position)
        text = self._files.text(file)
        spot = find_spot(text, at) if is_checked(file, text) else None
        if spot is None:
            return []
        self.analysis(uri)
        parsed = self._parsed.get(file)
        document = parsed.document_above(at.line) if parsed else None
        columns = (at.column - len(spot.word), at.column + len(spot.rest))
        replaced = types.Range(*(to_lsp(self._codec, lines, at._replace(column=column)) for column in columns))
        schema = schema_file.DEFAULTS if is_defaults(file) else schema_file.NAME
        kind = types.CompletionItemKind.Value if spot.is_value else types.CompletionItemKind.Property
        return [
            types.CompletionItem(
                choice.name,
                kind=kind,
                detail=choice.summary or None,
                sort_text=f"{number:04}",
                text_edit=types.TextEdit(replaced, choice.text),
            )
            for number, choice in enumerate(complete(spot, document, schema))
        ]

    def actions(self, uri: str, selected: types.Range) -> list[types.CodeAction]:
        """Return the quick fixes of the problems whose lines are selected."""
        file, analysis = file_of(uri), self.analysis(uri)
        lines = self._lines(uri)
        selected_lines = range(selected.start.line + 1, selected.end.line + 2)
        actions = []
        for problem in analysis.problems if analysis else ():
            if problem.file != file or problem.position.line not in selected_lines:
                continue
            for fix in quick_fixes(analysis, problem) if analysis else ():
                edit = to_edit(self._codec, self._files.text(file), fix.text)
                actions.append(
                    types.CodeAction(
                        fix.title,
                        kind=types.CodeActionKind.QuickFix,
                        diagnostics=[_diagnostic(self._codec, lines, problem)],
                        edit=types.WorkspaceEdit({uri: [edit]}),
                    )
                )
        return actions

    def cursor(self, uri: str, position: types.Position) -> Cursor | None:
        """Return the key or the value that the editor points at."""
        return find_key(self._files.text(file_of(uri)), from_lsp(self._codec, self._lines(uri), position))

    def location(self, place: Place) -> types.Location:
        """Return a place for the editor."""
        uri = self._uri(place.file)
        return types.Location(uri, to_range(self._codec, self._lines(uri), place.position))

    def span(self, uri: str, cursor: Cursor) -> types.Range:
        """Return the range of a key or a value."""
        lines = self._lines(uri)
        return types.Range(*(to_lsp(self._codec, lines, end) for end in (cursor.start, cursor.end)))

    def _analyse(self, file: str) -> None:
        self._analyses.pop(file, None)
        if not is_checked(file, self._files.text(file)):
            return
        try:
            analysis = analyse(self._files.source(file))
        except TfgenError as error:
            self._show(str(error))
            return
        except Exception as error:  # the server goes on with the next key
            self._show(f"internal error: {type(error).__name__}: {error}; tfgen check --debug {file} shows the cause")
            return
        self._analyses[file] = analysis
        if analysis.is_parsed:
            self._parsed[file] = analysis

    def _show(self, message: str) -> None:
        self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

    def _publish(self) -> None:
        """Send the problems of all analysed files, and an empty list for each file that has no problems any more."""
        problems = in_order(problem for analysis in self._analyses.values() for problem in analysis.problems)
        by_file: dict[str, list[Problem]] = {file: [] for file in (*self._published, *self._analyses)}
        for problem in problems:
            by_file.setdefault(problem.file, []).append(problem)
        for file, of_file in by_file.items():
            uri = self._uri(file)
            lines = self._lines(uri) if of_file else ()
            diagnostics = [_diagnostic(self._codec, lines, problem) for problem in of_file]
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))
        self._published = {file for file, of_file in by_file.items() if of_file}

    @property
    def _codec(self) -> PositionCodec:
        return self._server.workspace.position_codec

    def _uri(self, file: str) -> str:
        return self._uris.get(file) or uris.from_fs_path(str(Path(file).absolute())) or ""

    def _lines(self, uri: str) -> Sequence[str]:
        """The lines of a file, open or on disk; empty for a file that cannot be read."""
        with suppress(OSError, UnicodeError):
            return self._server.workspace.get_text_document(uri).lines
        return ()


def create_server() -> LanguageServer:
    """Create a server that answers an editor."""
    server = LanguageServer("tfgen", __version__)
    session = Session(server)
    _take_texts(server, session)
    _answer_requests(server, session)
    return server


def _take_texts(server: LanguageServer, session: Session) -> None:
    """Follow the texts of the editor and the files on disk."""

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        if (root := server.workspace.root_path) and Path(root).is_dir():
            os.chdir(root)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        session.check(session.update(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        session.check_soon(session.update(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.remove(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(_: types.DidChangeWatchedFilesParams) -> None:
        session.check_all()


def _answer_requests(server: LanguageServer, session: Session) -> None:
    """Answer questions about the text at the cursor."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        analysis, cursor = session.analysis(uri), session.cursor(uri, params.position)
        text = explain_key(analysis, cursor) if analysis and cursor else None
        if cursor is None or text is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text}```")
        return types.Hover(content, session.span(uri, cursor))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return session.actions(params.text_document.uri, params.range)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", "{", "["]))
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        return session.choices(params.text_document.uri, params.position)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        uri = params.text_document.uri
        analysis, cursor = session.analysis(uri), session.cursor(uri, params.position)
        document = analysis.accepted_at(cursor.root) if analysis and cursor else None
        if document is None or cursor is None:
            return []
        return [session.location(place) for place in set_or_enforced(document, cursor.path)]


def file_of(uri: str) -> str:
    """Return the name of a file, relative to the working directory."""
    path = uris.to_fs_path(uri) or uri
    return os.path.relpath(path)


def _diagnostic(codec: PositionCodec, lines: Sequence[str], problem: Problem) -> types.Diagnostic:
    return types.Diagnostic(
        range=to_range(codec, lines, problem.position),
        message=problem.message,
        severity=_SEVERITIES[problem.severity],
        code=problem.rule,
        source="tfgen",
    )
