"""Frozen records: what ``@dataclass(frozen=True)`` gives, at a fiftieth of the price at start-up.

    class Position(Record):
        line: int
        column: int = 1

    Position(3)                     -> Position(line=3, column=1)
    Position(3).replaced(column=7)  -> Position(line=3, column=7)

`dataclasses` writes the source of six methods for each class and compiles it, 0.5 ms a class; the classes of this
package took a fifth of the time of ``tfgen render``. Here all records share the methods below. Type checkers know
them for dataclasses (PEP 681).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Self, dataclass_transform

EMPTY: Final[Mapping[Any, Any]] = MappingProxyType({})
"""The default of a field that is a mapping."""


@dataclass_transform(frozen_default=True)
class Record:
    """A base for classes whose annotated names are fields, in order; two are equal if type and fields are.

    Raises:
        TypeError: a field is missing, given twice, or unknown.
        AttributeError: on setting or deleting a field.
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = tuple(cls.__annotations__)
        cls.__match_args__ = (*cls.__match_args__, *own)  # type: ignore[misc]  # mypy takes it for final
        cls._names = frozenset(cls.__match_args__)
        cls._defaults = {**cls._defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}

    def __init__(self, *args: Any, **named: Any) -> None:
        names = self.__match_args__
        if named or len(args) != len(names):
            args = self._complete(args, named)
        self.__dict__.update(zip(names, args))  # noqa: B905  # a keyword for each of thousands of records costs

    @classmethod
    def _complete(cls, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        names = cls.__match_args__
        given = dict(zip(names, args, strict=False))
        values = {**cls._defaults, **given, **named}
        if len(args) > len(names) or values.keys() != cls._names or not given.keys().isdisjoint(named):
            raise TypeError(f"{cls.__name__} has the fields {names}, but was given {args} and {named}")
        return tuple(map(values.__getitem__, names))

    def replaced(self, **changes: Any) -> Self:
        """The record with other values in the fields that are named."""
        return type(self)(**{**{name: self.__dict__[name] for name in self.__match_args__}, **changes})

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is type(self)
            and all(self.__dict__[name] == other.__dict__[name] for name in self.__match_args__)
        )

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in self.__match_args__))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({fields})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name!r}")
