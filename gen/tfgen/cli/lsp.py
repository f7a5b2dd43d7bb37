"""``tfgen lsp``: run a language server (Language Server Protocol) on standard input and output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.command import OK, PROBLEMS, Command

_SUMMARY: Final = "run a language server, which checks job.yaml and tfgen.yaml in an editor"
_EXAMPLE: Final = "tfgen lsp --stdio"


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the only mode)")


def _run(_args: Namespace) -> int:
    from tfgen.lsp.server import serve

    return OK if serve(sys.stdout.buffer) else PROBLEMS


COMMAND: Final = Command(_SUMMARY, _arguments, _run, _EXAMPLE)
