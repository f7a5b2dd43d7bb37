"""Examples that reproduce the manifest of a document: each field is equal, or the difference has a reason.

tests/seeds/EXAMPLE.yaml names the document and its code block, and lists each different field with the reason.
every.yaml lists the differences of all examples. A field is KIND.path, or KIND[NAME].path for one of several objects of
a kind, with list items by name; ``*`` is any text. ``became`` maps a part of a path to its name in tfgen, and
``objects`` contains the manifest of a document that has lost the indentation.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.graph.graph import plain_objects

HERE = Path(__file__).parent
DOCUMENTS = ROOT.parent / "shared" / "seeds"
CASES = sorted(path for path in HERE.glob("*.yaml") if path.name != "every.yaml")

MISSING = "nothing"

pytestmark = pytest.mark.may_skip("the documents are not part of the repository")


def said(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_field_of_the_manifest_is_rendered_or_has_a_reason(path):
    case, every = said(path), said(HERE / "every.yaml")
    theirs = fields(manifest(case), case.get("became", {}))
    (document,) = check((ROOT / "examples" / path.stem / "job.yaml").read_bytes(), "job.yaml").documents
    rendered = list(plain_objects(document.data))
    if "flags" in case:
        rendered.append(flags(argument for item in rendered for argument in arguments(item)))
    ours = fields(rendered)
    reasons = {**every["differences"], **case["differences"]}
    differing = {field for field in {*theirs, *ours} if theirs.get(field, MISSING) != ours.get(field, MISSING)}
    unlisted = [
        f"{field}: {theirs.get(field, MISSING)!r} became {ours.get(field, MISSING)!r}"
        for field in sorted(differing)
        if not any(fnmatchcase(field, escaped(pattern)) for pattern in reasons)
    ]
    assert unlisted == [], "\n".join(["", *unlisted])
    stale = [p for p in case["differences"] if not any(fnmatchcase(field, escaped(p)) for field in differing)]
    assert stale == [], "these fields do not differ"
    assert differing < {*theirs, *ours}, "nothing is equal"


def test_every_example_whose_readme_names_the_cases_has_a_case():
    readmes = ROOT.glob("examples/*/README.md")
    names = {path.parent.name for path in readmes if "tests/seeds" in path.read_text(encoding="utf-8")}
    assert names == {path.stem for path in CASES}


def escaped(pattern: str) -> str:
    """Return a pattern in which brackets are text."""
    return pattern.replace("[", "[[]")


# -- the document -------------------------------------------------------------------------------------------------


def manifest(case: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a case: the objects of its code blocks, with later parts merged into the last object."""
    if not DOCUMENTS.exists():
        pytest.skip(f"needs the documents in {DOCUMENTS}")
    text = (DOCUMENTS / case["document"]).read_text(encoding="utf-8")
    if "objects" in case:
        page = _dense(text)
        assert [word for word in map(_dense, _words(case["objects"])) if word not in page] == []
        return case["objects"]
    for word, instead in case.get("words", {}).items():
        text = text.replace(word, instead)
    blocks = re.findall(r"^``` ?ya?ml\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    if "flags" in case:
        (line,) = re.findall(case["flags"], text, flags=re.MULTILINE | re.DOTALL)
        objects = [repaired(text, pattern, indents) for pattern, indents in case["lines"].items()]
        return [*objects, flags(word.strip('"') for word in re.findall(r'--\w+=".*?"|--\w+=\S+', line))]
    chosen = [case["block"]] if isinstance(case["block"], int) else case["block"]
    *others, last = [item for number in chosen for item in yaml.safe_load_all(blocks[number - 1]) if item]
    for path, pattern in case.get("parts", {}).items():
        (part,) = re.findall(pattern, text, flags=re.MULTILINE | re.DOTALL)
        last = merged(last, below(path, yaml.safe_load(textwrap.dedent(part))))
    return [item for item in (*others, last) if item["kind"] not in case.get("without", ())]


def _dense(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _words(value: Any) -> Iterator[str]:
    """Yield every key and every scalar of a value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    else:
        yield str(value)


def repaired(text: str, pattern: str, indents: Sequence[int]) -> Any:
    """Return an object from lines of the document that have lost their indentation."""
    (lines,) = re.findall(pattern, text, flags=re.MULTILINE | re.DOTALL)
    return yaml.safe_load("\n".join(" " * n + line for n, line in zip(indents, lines.splitlines(), strict=True)))


def flags(words: Iterable[str]) -> Mapping[str, Any]:
    """Return the arguments of ElasticDL as an object."""
    named = (word.removeprefix("--").partition("=") for word in words if word.startswith("--") and "=" in word)
    return {"kind": "Flags", **{name: value.strip('"') for name, _, value in named}}


def arguments(item: Mapping[str, Any]) -> Sequence[str]:
    """Return the arguments of the main container of a Pod."""
    return item["spec"]["containers"][0].get("args", ()) if item["kind"] == "Pod" else ()


def below(path: str, value: Any) -> Any:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def merged(under: Any, over: Any) -> Any:
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: merged(under.get(key), value) for key, value in over.items()}}
    if isinstance(under, list) and isinstance(over, list) and len(under) == len(over):
        return [merged(*pair) for pair in zip(under, over, strict=True)]
    return over


# -- fields ---------------------------------------------------------------------------------------------------------


def fields(objects: Sequence[Mapping[str, Any]], became: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return the scalars of all objects by path."""
    kinds = [item["kind"] for item in objects]
    found = {}
    for item in objects:
        kind = item["kind"]
        for path, value in _walk(item, kind if kinds.count(kind) == 1 else f"{kind}[{item['metadata']['name']}]"):
            for theirs, ours in became.items():
                path = path.replace(theirs, ours)
            found[path] = value
    return {path: value for path, value in found.items() if path != "Flags.kind"}


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            name = inner.get("name", index) if isinstance(inner, Mapping) else index
            yield from _walk(inner, f"{path}[{name}]")
    else:
        yield path, value
