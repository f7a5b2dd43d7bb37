"""`tfgen explain FILE:LINE`: explain a line of a rendered file by the job keys, the reason and a documentation page.

$ tfgen explain charts/mnist/templates/worker.yaml:15
charts/mnist/templates/worker.yaml:15

  replicas: {{ .Values.roles.worker.replicas | int64 }}

Set by:

  spec.roles.worker.replicas  1  mnist/job.yaml:29:17

Reason: Number of tasks.
Page: docs/environments.md
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from tfgen import data_path
from tfgen.check.jobs import check_all
from tfgen.commands.line_origin.chart_file import chart_line
from tfgen.commands.line_origin.job_parts import JobParts
from tfgen.commands.line_origin.line_facts import LineFacts
from tfgen.commands.line_origin.overlay_file import overlay_line
from tfgen.commands.line_origin.pages import page_of_key
from tfgen.commands.line_origin.rendered_text import RenderedText, read_rendered
from tfgen.data_path import Path
from tfgen.errors import TfgenError, UsageError
from tfgen.graph.provenance import JOB_NAME
from tfgen.job.named_job import choose_job
from tfgen.job.origin import Origin, as_rows, as_table
from tfgen.job.sources import read_sources
from tfgen.places import CHARTS, OVERLAYS, job_folder
from tfgen.plural import count as plural
from tfgen.problems import stop_at_errors
from tfgen.record import Record
from tfgen.schema import file as schema_file
from tfgen.schema.chart_values import ENVIRONMENT, chart_values
from tfgen.schema.file import first_sentence
from tfgen.targets.render import render_document
from tfgen.text.document import Document

_PLACE: Final = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?::[0-9]+)?")
_FEW: Final = 6
"""Maximum number of listed keys. Keys that a file sets are always listed, even above this number."""
_GITOPS: Final = "The object makes a GitOps tool apply the job."
_WIDTH: Final = 100


class LineOrigin(Record):
    """The explanation of a line of a rendered file.

    Attributes:
        file: the path of the file.
        number: the number of the line, from 1.
        line: the text of the line.
        values: the keys that set the values on the line.
        tests: the keys that decide whether the file contains the line.
        reason: the reason for the line.
        page: the page of the documentation.
    """

    file: str
    number: int
    line: str
    values: tuple[Origin, ...]
    tests: tuple[Origin, ...]
    reason: str
    page: str


def explain_line(place: str) -> LineOrigin:
    """Explain a line of a rendered file on disk.

    Args:
        place: ``FILE:LINE`` or ``FILE:LINE:COLUMN``; the column is ignored.

    Raises:
        UsageError: tfgen did not render the file, or the file has fewer lines.
        TfgenError: the file differs from the file that tfgen now renders from the job.
        ProblemsError: the job has errors.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise UsageError(f"{place!r} is not FILE:LINE; write a path and the number of a line")
    rendered = read_rendered(FilePath(match["file"]))
    number, lines = int(match["line"]), rendered.text.removesuffix("\n").split("\n")
    if not 1 <= number <= len(lines):
        raise UsageError(f"{match['file']} has no line {number}; the last line is {len(lines)}")
    parts = JobParts.of(_document(rendered, match["file"]))
    return line_origin(parts, rendered, match["file"], number)


def line_origin(parts: JobParts, rendered: RenderedText, file: str, number: int) -> LineOrigin:
    """Explain a line of a rendered file of a job.

    Args:
        parts: the job.
        rendered: the file.
        file: the path of the file that the result contains.
        number: the number of the line, from 1.
    """
    facts = _facts(parts, rendered, number)
    values = _origins(parts, facts, facts.sources)
    tests = () if values else _origins(parts, facts, facts.tests)
    written = [row.path for row in values if row.place] or [row.path for row in values]
    key = written[0] if len(written) == 1 else None  # the only key that a file sets
    reason = facts.comment or (key and _description(key)) or facts.reason
    page = (key and page_of_key(key)) or facts.page
    line = rendered.text.split("\n")[number - 1]
    return LineOrigin(file, number, line, values, tests, reason, page)


def as_text(origin: LineOrigin) -> str:
    """Return the explanation of a line as text."""
    paragraphs = [f"{origin.file}:{origin.number}", f"  {origin.line.strip()}" if origin.line.strip() else "  (empty)"]
    if origin.values:
        paragraphs += ["Set by:", _table(origin.values)]
    elif origin.tests:
        paragraphs += [
            "No key sets the value of the line. The line exists because of these keys:",
            _table(origin.tests),
        ]
    else:
        paragraphs.append("No key sets the line.")
    reason = textwrap.fill(f"Reason: {origin.reason}", _WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n\n".join([*paragraphs, f"{reason}\nPage: {origin.page}"]) + "\n"


def as_data(origin: LineOrigin) -> dict[str, Any]:
    """Return the explanation of a line as JSON data."""
    return {
        "file": origin.file,
        "line": origin.number,
        "text": origin.line,
        "values": as_rows(origin.values),
        "conditions": as_rows(origin.tests),
        "reason": origin.reason,
        "page": origin.page,
    }


def _table(rows: tuple[Origin, ...]) -> str:
    """Return a table with a line for each origin.

    The table leaves out default values after the sixth line. The last line then has the number of omitted keys.
    """
    written = tuple(row for row in rows if row.place)
    defaults = tuple(row for row in rows if not row.place)
    listed = written + defaults[: max(0, _FEW - len(written))]
    table = textwrap.indent(as_table(listed), "  ").rstrip("\n")
    count = len(rows) - len(listed)
    return f"{table}\n  and {plural(count, 'more key')} with the default" if count else table


def _document(rendered: RenderedText, file: str) -> Document:
    """Read the job of a rendered file, and check that the job still renders to this file. `file` is for messages."""
    jobs = check_all(read_sources([rendered.source]))
    stop_at_errors(jobs.problems)
    document = choose_job(jobs.documents, str(rendered.source), rendered.job)
    files = render_document(document).with_revision_number(rendered.ledger).tree.files
    if files.get(rendered.path) != rendered.text:
        raise TfgenError(
            f"{file}: differs from the file that {rendered.source} renders to; "
            f"run tfgen render {rendered.source}, and repeat this command"
        )
    return document


def _facts(parts: JobParts, rendered: RenderedText, number: int) -> LineFacts:
    folder = job_folder(rendered.path)
    path = rendered.path.removeprefix(f"{folder}/")
    if folder is not None and folder.startswith(f"{CHARTS}/"):
        return chart_line(parts, path, number, rendered.text)
    if folder is not None and folder.startswith(f"{OVERLAYS}/"):
        return overlay_line(parts, path, number, rendered.text)
    return LineFacts(_GITOPS, "docs/gitops.md", sources=frozenset((("spec", "gitops"), JOB_NAME)))


def _origins(parts: JobParts, facts: LineFacts, keys: Iterable[Path]) -> tuple[Origin, ...]:
    rows = parts.origins(facts.environment)
    of_keys = (row for key in sorted(keys, key=str) for row in _origins_of_key(parts.document, rows, key))
    return tuple({row.path: row for row in of_keys}.values())


def _origins_of_key(document: Document, rows: Mapping[Path, Origin], key: Path) -> Iterable[Origin]:
    """Return the origins of the values at and below a key. Without such values, return the nearest parent's origin.

    `rows` contains the origin of each value of the job, by the path of the value.
    """
    if key[0] != "spec" or key[1:2] in (("environments",), ("patches",)):
        value = data_path.at(document.data, key)
        return () if value is None else (Origin(key, value, document.place(key)),)
    if parts := [row for path, row in rows.items() if path[: len(key)] == key]:
        return parts
    if around := [rows[key[:end]] for end in range(len(key), 1, -1) if key[:end] in rows]:
        return around[:1]
    chart_only = chart_values(()).get(str(key[1]))
    if chart_only is not None or key[1] == ENVIRONMENT:
        return (Origin(key[1:], ""),)
    return ()


def _description(path: Path) -> str:
    """Return the first sentence of a key's description; empty if the schema does not have the key."""
    node = schema_file.node(schema_file.load(), tuple(map(str, path)))
    return first_sentence(node) if node and "description" in node else ""
