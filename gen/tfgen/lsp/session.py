"""The open files of one editor, with the texts, the analyses, and the problems that the editor shows.

The answers are types of the language server protocol. The names of files are relative to the working directory.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from tfgen.check.fixes import Analysis, analyse, fixed_texts, is_defaults
from tfgen.disk_file import real_path
from tfgen.errors import Place, Problem, TfgenError, has_errors, in_order
from tfgen.graph.graph import build
from tfgen.job.sources import Source, contains_job, defaults_under, read_defaults_file
from tfgen.lsp.answers import complete
from tfgen.lsp.places import Cursor, apply_change, find_key, find_spot, from_lsp, lines_of, to_edit, to_lsp, to_range
from tfgen.pipeline.objects import find_object_problems
from tfgen.schema import file as schema_file
from tfgen.words import command_line

JOB_FILE = "job.yaml"
"""The name of a job file. tfgen checks an empty file with this name as a job."""


class OpenFiles:
    """The texts of the open files, by the path of each file."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}

    def update(self, file: str, text: str) -> None:
        """Set the text of an open file."""
        self._texts[real_path(Path(file))] = text

    def remove(self, file: str) -> None:
        """Remove a closed file. tfgen then reads the text on disk again."""
        self._texts.pop(real_path(Path(file)), None)

    def text(self, file: str) -> str:
        """Return the text of an open file; empty for any other file."""
        return self._texts.get(real_path(Path(file)), "")

    def source(self, file: str) -> Source:
        """Return the unsaved text of an open file as a `Source`. `Source.defaults` is the nearest tfgen.yaml.

        The text of a tfgen.yaml comes from the editor, or from the disk if the editor has not opened the tfgen.yaml.

        Raises:
            UsageError: a tfgen.yaml on disk cannot be read.
        """
        under = defaults_under(Path(file), self._defaults)
        if is_defaults(file) and under is not None:
            return under
        return Source(file, self.text(file), under)

    def _defaults(self, path: Path) -> bytes | None:
        text = self._texts.get(real_path(path))
        return read_defaults_file(path) if text is None else _encode(text)


def is_checked(file: str, text: str) -> bool:
    """Test whether tfgen checks a file: a tfgen.yaml or a job. Editors also open YAML files of other programs."""
    return is_defaults(file) or Path(file).name == JOB_FILE or contains_job(_encode(text))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check_built_objects(analysis: Analysis) -> Analysis:
    """Return the analysis with the problems of the Kubernetes objects, for a file whose jobs have no errors."""
    has_jobs = not is_defaults(analysis.source.file) and len(analysis.accepted) == len(analysis.documents)
    if not has_jobs or has_errors(analysis.problems):
        return analysis
    jobs = [(document, build(document.data)) for document in analysis.accepted]
    return analysis.replaced(of_objects=in_order(find_object_problems(jobs)))


# -- the session -------------------------------------------------------------------------------------------------------


PAUSE: Final = 0.05
"""Seconds between the last key press and the check of a file."""

OBJECTS_PAUSE: Final = 0.5
"""Seconds between the last key press and the check of a job's objects. The check takes up to 0.3 s."""


class Session:
    """The open files of one editor, and the analyses of the files.

    For a file that is not valid YAML, the session has two analyses: of the current text, and of the last valid text.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._files = OpenFiles()
        self._uris: dict[str, str] = {}
        self._analyses: dict[str, Analysis] = {}
        self._parsed: dict[str, Analysis] = {}
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._unchecked: set[str] = set()
        self._shown: set[str] = set()
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def open(self, uri: str, text: str) -> str:
        """Add an open file with its text to the session. Return the name of the file."""
        file = file_of(uri)
        self._uris[file] = uri
        self._files.update(file, text)
        self._unchecked.add(file)
        return file

    def change(self, uri: str, changes: Iterable[types.TextDocumentContentChangeEvent]) -> str:
        """Apply the changes of an editor to the text of an open file. Return the name of the file.

        The server asks for whole texts, and also accepts changes of ranges. The session applies the changes itself,
        because pygls also ends a line at a form feed, U+0085 or U+2028, and would change a wrong line.
        """
        text = self._files.text(file_of(uri))
        for change in changes:
            text = apply_change(self._codec, text, change)
        return self.open(uri, text)

    def remove(self, uri: str) -> None:
        """Remove a closed file and its problems from the session."""
        file = file_of(uri)
        self._files.remove(file)
        self._uris.pop(file, None)
        self._analyses.pop(file, None)
        self._parsed.pop(file, None)
        self._unchecked.discard(file)
        if waiting := self._waiting.pop(file, None):
            waiting.cancel()
        if is_defaults(file) and self._uris:
            self.check_all_soon()
        else:
            self._publish()

    def check(self, file: str) -> None:
        """Check a file now. If the file is a tfgen.yaml, check all open files."""
        files = [*self._uris] if is_defaults(file) else [file]
        for checked in files:
            self._analyse(checked)
        self._publish(files)

    def check_all_soon(self) -> None:
        """Schedule a check of all open files, because a tfgen.yaml has changed."""
        for file in self._uris:
            self.check_soon(file, pause=0)

    def check_soon(self, file: str, pause: float = PAUSE) -> None:
        """Schedule two checks of a file, so that no check runs while the user types.

        The first check runs after a pause in the typing. After a longer pause, the second check checks the Kubernetes
        objects of the jobs in the file.
        """
        if waiting := self._waiting.get(file):
            waiting.cancel()
        self._waiting[file] = asyncio.create_task(self._check_later(file, pause))

    async def _check_later(self, file: str, pause: float) -> None:
        await asyncio.sleep(pause)
        self.check(file)
        await asyncio.sleep(OBJECTS_PAUSE)
        self._check_objects(file)

    def analysis(self, uri: str) -> Analysis | None:
        """Return the analysis of the text that the editor shows; None for a file that tfgen does not check."""
        file = file_of(uri)
        if file in self._unchecked:
            self.check(file)
        return self._analyses.get(file)

    def choices(self, uri: str, position: types.Position) -> list[types.CompletionItem]:
        """Return the completions at a position. Names of roles and volumes come from the last valid YAML text."""
        file, lines = file_of(uri), self._lines(uri)
        at = from_lsp(self._codec, lines, position)
        text = self._files.text(file)
        spot = find_spot(text, at) if is_checked(file, text) else None
        if spot is None:
            return []
        self.analysis(uri)
        parsed = self._parsed.get(file)
        document = parsed.document_above(at.line) if parsed else None
        columns = (at.column - len(spot.word), at.column + len(spot.tail))
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
        """Return the quick fixes for the problems in the selected lines."""
        file, analysis = file_of(uri), self.analysis(uri)
        lines = self._lines(uri)
        selected_lines = range(selected.start.line + 1, selected.end.line + 2)
        actions = []
        for problem in analysis.problems if analysis else ():
            if problem.file != file or problem.position.line not in selected_lines:
                continue
            for fixed in fixed_texts(analysis, problem) if analysis else ():
                edit = to_edit(self._codec, self._files.text(file), fixed.text)
                actions.append(
                    types.CodeAction(
                        fixed.fix.title,
                        kind=types.CodeActionKind.QuickFix,
                        diagnostics=[_diagnostic(self._codec, lines, problem)],
                        edit=types.WorkspaceEdit({uri: [edit]}),
                    )
                )
        return actions

    def find(self, uri: str, position: types.Position) -> tuple[Analysis, Cursor] | None:
        """Return the analysis of a file, and the key or the value at a position; None without one of the two."""
        analysis = self.analysis(uri)
        cursor = find_key(self._files.text(file_of(uri)), from_lsp(self._codec, self._lines(uri), position))
        return (analysis, cursor) if analysis and cursor else None

    def location(self, place: Place) -> types.Location:
        """Convert a file and a position of tfgen to a location of the protocol."""
        uri = self._uri(place.file)
        return types.Location(uri, to_range(self._codec, self._lines(uri), place.position))

    def span(self, uri: str, cursor: Cursor) -> types.Range:
        """Return the range of a key or a value as a range of the protocol."""
        lines = self._lines(uri)
        return types.Range(*(to_lsp(self._codec, lines, end) for end in (cursor.start, cursor.end)))

    def _analyse(self, file: str) -> None:
        self._unchecked.discard(file)
        self._analyses.pop(file, None)
        if not is_checked(file, self._files.text(file)):
            return
        with self._errors_shown(file):
            self._analyses[file] = analyse(self._files.source(file))
            if self._analyses[file].is_parsed:
                self._parsed[file] = self._analyses[file]

    def _check_objects(self, file: str) -> None:
        """Check the Kubernetes objects of a job file. For a tfgen.yaml, check the objects of all open jobs."""
        for checked in self._uris if is_defaults(file) else (file,):
            if checked in self._analyses:
                with self._errors_shown(checked):
                    self._analyses[checked] = check_built_objects(self._analyses[checked])
        self._publish()

    @contextmanager
    def _errors_shown(self, file: str) -> Iterator[None]:
        """Show the errors of the `with` block in the editor. The server continues. Equal errors are shown only once."""
        try:
            yield
        except TfgenError as error:
            self._show(str(error))
        except Exception as error:
            command = command_line("check", "--debug", file)
            self._show(f"internal error: {type(error).__name__}: {error}; {command} shows the cause")

    def _show(self, message: str) -> None:
        if message not in self._shown:
            self._shown.add(message)
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))

    def _publish(self, files: Collection[str] = ()) -> None:
        """Send the problems of the given files, and of each other file whose problems have changed.

        A file whose new text is not yet checked keeps its problems until the check, because the positions of the
        problems belong to the old text.
        """
        analyses = self._analyses.values()
        problems = in_order(problem for item in analyses for problem in (*item.problems, *item.of_objects))
        by_file: dict[str, list[Problem]] = {file: [] for file in (*self._published, *self._analyses)}
        for problem in problems:
            by_file.setdefault(problem.file, []).append(problem)
        for file, of_file in by_file.items():
            if file in self._unchecked:
                continue
            uri = self._uri(file)
            lines = self._lines(uri) if of_file else ()
            diagnostics = [_diagnostic(self._codec, lines, problem) for problem in of_file]
            if file in files or diagnostics != self._published.get(file, []):
                self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))
            self._published[file] = diagnostics

    @property
    def _codec(self) -> PositionCodec:
        return self._server.workspace.position_codec

    def _uri(self, file: str) -> str:
        return self._uris.get(file) or uris.from_fs_path(str(Path(file).absolute())) or ""

    def _lines(self, uri: str) -> Sequence[str]:
        """Return the lines of a file, from the editor or from the disk; empty for a file that cannot be read."""
        file = file_of(uri)
        if file in self._uris:
            return lines_of(self._files.text(file))
        with suppress(OSError, UnicodeError):
            return lines_of(self._server.workspace.get_text_document(uri).source)
        return ()


def file_of(uri: str) -> str:
    """Convert a URI to the name of a file, relative to the working directory."""
    path = uris.to_fs_path(uri) or uri
    return os.path.relpath(path)


def _diagnostic(codec: PositionCodec, lines: Sequence[str], problem: Problem) -> types.Diagnostic:
    return types.Diagnostic(
        range=to_range(codec, lines, problem.position),
        message=problem.message,
        severity=types.DiagnosticSeverity[problem.severity.capitalize()],
        code=problem.rule,
        source="tfgen",
    )
