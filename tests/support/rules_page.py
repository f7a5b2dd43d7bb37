"""The sections of docs/rules.md, and the ids of the rules of the parser."""

from __future__ import annotations

import ast
import re
from typing import Final, NamedTuple

from tests.support.tools import ROOT

PAGE: Final = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


class Section(NamedTuple):
    id: str
    text: str
    examples: list[str]


def sections() -> list[Section]:
    found = []
    for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n\n")
        body = re.split(r"^## ", body, flags=re.MULTILINE)[0]
        found.append(Section(heading.strip("`"), body.split("```")[0].strip(), blocks(body)))
    return found


def blocks(text: str) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def ids_of_the_reader() -> set[str]:
    """Return the ids in the modules of the parser. The parser has no table of rules, so the ids are string literals."""
    found = set()
    for name in ("text/parse.py", "text/reader.py", "text/yaml_syntax.py"):
        tree = ast.parse((ROOT / "gen" / "tfgen" / name).read_text(encoding="utf-8"))
        literals = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        found |= {text for text in literals if re.fullmatch(r"yaml-[a-z]+|duplicate-key", str(text))}
    return found
