"""Implement "Go to Definition": find the lines in the job and in each tfgen.yaml that set or enforce a value.

set_or_enforced(document, ("spec", "gang", "queue"))
# [Place("tfgen.yaml", Position(4, 9)), Place("tfgen.yaml", Position(2, 11))]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.errors import Place
from tfgen.job.defaults import names_registry
from tfgen.lsp.hover import split_environment
from tfgen.rails.enforce import enforced_values
from tfgen.rails.paths import REGISTRY, Enforced, all_enforced
from tfgen.text.document import Document


def set_or_enforced(document: Document, path: Path) -> list[Place]:
    """Return the lines that set or enforce a value, except for the line at `path` itself. The nearest file is first.

    Args:
        document: a document without schema errors, with the defaults from each tfgen.yaml.
        path: the path of the value in the document.
    """
    keys = tuple(takewhile(lambda step: isinstance(step, str), path))
    places = [*_setting(document, keys), *_enforcing(document, keys), *_registry(document, path)]
    return [*dict.fromkeys(places)]


def _setting(document: Document, path: Path) -> Iterator[Place]:
    _, of_job = split_environment(path)
    for depth, layer in enumerate(document.layers()):
        for candidate in dict.fromkeys((path, of_job)):
            if (depth or candidate != path) and len(candidate) > 1 and data_path.has(layer.data, candidate):
                yield Place(layer.file, layer.key(candidate))


def _enforcing(document: Document, path: Path) -> Iterator[Place]:
    for enforced in all_enforced(document.under):
        if enforced.path != REGISTRY and _covers(document, enforced, path):
            yield enforced.place


def _covers(document: Document, enforced: Enforced, path: Path) -> bool:
    """Test whether the entry `enforced` of a tfgen.yaml enforces `path`, a parent of `path` or a key below `path`.

    An entry for a parent does not apply to the exceptions of the entry.
    """
    if len(path) <= 1:
        return False
    for form, _ in enforced_values(document.alone().data, enforced):
        keys_of_form = path[len(form) :]
        is_excepted = any(keys == keys_of_form[: len(keys)] for keys in enforced.excepted or ())
        if form[: len(path)] == path or (path[: len(form)] == form and not is_excepted):
            return True
    return False


def _registry(document: Document, path: Path) -> Iterator[Place]:
    """Yield the lines in a tfgen.yaml that set or enforce the registry of the image at `path`.

    For a field other than an image, yield nothing. A default registry does not apply to an image that contains a
    registry.
    """
    image = data_path.at(document.alone().data, path)
    if path[-1:] != ("image",) or not isinstance(image, str) or document.under is None:
        return
    if not names_registry(image) and data_path.has(document.under.data, REGISTRY):
        yield document.under.place(REGISTRY)
    yield from (enforced.place for enforced in all_enforced(document.under) if enforced.path == REGISTRY)
