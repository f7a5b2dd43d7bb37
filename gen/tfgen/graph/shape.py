"""What follows from a job's structure is made once for all jobs that have it: most jobs of a team have few."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeVar

from tfgen.job.training_job import Structure

_Result = TypeVar("_Result")

MAX_CACHED: Final = 64
"""Structures for which a function keeps what it made; of more, those that were asked for last."""


class Shape:
    """A structure as a key, the job's name aside. Unlike equal structures, equal shapes have the same orders too."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._text = structure.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


def cached_by_shape(function: Callable[[Structure], _Result]) -> Callable[[Structure], _Result]:
    """The same function, which does its work once for a shape, without the job's name. Nobody changes its result."""
    remember = functools.lru_cache(maxsize=MAX_CACHED)(lambda shape: function(shape.structure.replaced(name="")))
    return functools.wraps(function)(lambda structure: remember(Shape(structure)))
