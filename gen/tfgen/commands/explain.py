"""``tfgen explain``: explain a key of job.yaml, a rule or a line of a rendered file, or list the origin of values."""

from __future__ import annotations

import functools
import re
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tfgen.cli.output import OK, columns, print_json, print_result, read_jobs
from tfgen.commands.line_origin.explain_line import as_data, as_text, explain_line
from tfgen.errors import UsageError
from tfgen.job.facts import as_rows, as_table, origins
from tfgen.schema.keys import WIDTH, explain
from tfgen.words import nearest

EXAMPLE: Final = "tfgen explain spec.roles.worker.resources.gpu"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "path",
        nargs="?",
        default="",
        metavar="PATH",
        help="a key, such as spec.roles.worker.resources.gpu, the id of a rule, such as latest-tag, or FILE:LINE of "
        "a rendered file, such as charts/mnist/templates/worker.yaml:15",
    )
    parser.add_argument(
        "--origin",
        action="store_true",
        help="PATH is a job.yaml: list the file and line that set each value of the job",
    )
    parser.add_argument("--env", metavar="ENV", help="with --origin: the values of this environment")


def run(args: Namespace) -> int:
    if args.origin:
        return _origin(args)
    if args.env is not None:
        raise UsageError("--env needs --origin")
    if _is_line(args.path):
        return _line(args)
    text = _text(args.path)
    if args.format == "json":
        print_json({"path": args.path, "text": text})
    else:
        print_result(text, end="")
    return OK


def _is_line(path: str) -> bool:
    """Return True if the argument PATH has the form ``FILE:LINE``."""
    file, _, line = path.partition(":")
    return bool(file) and line.partition(":")[0].isdecimal()


def _line(args: Namespace) -> int:
    origin = explain_line(args.path)
    if args.format == "json":
        print_json(as_data(origin))
    else:
        print_result(as_text(origin), end="")
    return OK


def _text(path: str) -> str:
    """Return the explanation of the key or rule with the name `path`. If a key and a rule have the name, explain both.

    Raises:
        UsageError: no key and no rule has the name. The message suggests the most similar key and rule.
    """
    rule = explain_rule(path.strip("[]"))
    try:
        key = explain(path, min(WIDTH, (columns() or WIDTH) - 2))
    except UsageError as error:
        if rule is not None:
            return rule
        near = nearest(path, rule_ids())
        raise UsageError(f"{error}; the most similar rule is {near}" if near else str(error)) from error
    return key if rule is None else f"{key}\nThe rule {rule}"


def _origin(args: Namespace) -> int:
    if not args.path:
        raise UsageError("--origin needs a job.yaml")
    jobs = read_jobs([Path(args.path)])
    origins_by_job = {document.data["metadata"]["name"]: origins(document, args.env) for document in jobs.documents}
    if args.format == "json":
        print_json({name: as_rows(rows) for name, rows in origins_by_job.items()})
        return OK
    for name, rows in origins_by_job.items():
        if len(origins_by_job) > 1:
            print_result(f"{name}:")
        print_result(as_table(rows), end="")
    return OK


_HEADING: Final = re.compile(r"^#{2,3} (?:`([a-z-]+)`)?.*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```.*$", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def explain_rule(rule: str) -> str | None:
    """Return the section about a rule in docs/rules.md as plain text; None if no rule has this id."""
    section = _sections().get(rule)
    if section is None:
        return None
    parts = (_indent_example(part, is_example=index % 2 == 1) for index, part in enumerate(_FENCE.split(section)))
    return f"{rule}\n\n{textwrap.indent(''.join(parts).strip(), '  ')}\n"


def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules, in the order of docs/rules.md."""
    return tuple(_sections())


def _indent_example(part: str, *, is_example: bool) -> str:
    return textwrap.indent(part.strip("\n"), "  ") if is_example else _LINK.sub(r"\1", part)


@functools.cache
def _sections() -> Mapping[str, str]:
    text = _rules_page().read_text(encoding="utf-8")
    headings = [*_HEADING.finditer(text)]
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return {
        heading[1]: text[heading.end() : end].strip() for heading, end in zip(headings, ends, strict=True) if heading[1]
    }


def _rules_page() -> Path:
    """Return the path of rules.md in the installed package, or in a checkout of tfgen."""
    package = Path(__file__).parents[1]
    installed = package / "docs" / "rules.md"
    return installed if installed.exists() else package.parent.parent / "docs" / "rules.md"
