"""``tfgen lsp``: run a language server (Language Server Protocol) on standard input and output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Final

from tfgen.cli.output import OK, PROBLEMS
from tfgen.lsp.server import serve

EXAMPLE: Final = "tfgen lsp --stdio"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the only mode)")


def run(_args: Namespace) -> int:
    return OK if serve(sys.stdout.buffer) else PROBLEMS
