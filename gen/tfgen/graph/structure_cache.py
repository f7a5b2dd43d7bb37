"""Cache of results that depend only on the structure of a job. Most jobs of a team have one of a few structures."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeVar

from tfgen.job.training_job import Structure

_Result = TypeVar("_Result")

MAX_CACHED: Final = 64
"""Maximum number of structures in the cache of a function. The least recently used structure is evicted."""


NAME: Final = "\ufdd0"
"""The placeholder for the name of the job in cached texts. A text of a job cannot contain the placeholder."""


class StructureText:
    """The cache key of a structure: the text of the structure, without the name of the job.

    For example, two jobs that differ only in their names have equal texts. Two jobs that differ in the order of the
    keys in `podTemplate` have different texts.
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.text = structure.text

    def __eq__(self, value: object) -> bool:
        return isinstance(value, StructureText) and self.text == value.text

    def __hash__(self) -> int:
        return hash(self.text)


def cached_by_structure(function: Callable[[Structure], _Result]) -> Callable[[Structure], _Result]:
    """Decorate a function so that structures with equal texts share a cached result.

    The text of a structure does not contain the name of the job. So the function receives a structure with an empty
    name. Callers must not change the result.
    """
    cached = functools.lru_cache(maxsize=MAX_CACHED)(lambda key: function(key.structure.replaced(name="")))
    return functools.wraps(function)(lambda structure: cached(StructureText(structure)))
