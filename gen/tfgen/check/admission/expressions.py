"""CEL, the language of admission policies, with Kubernetes' quantities and searches.

    evaluate("object.spec.replicas <= 5", {"object": {"spec": {"replicas": 7}}})  ->  Result(value=False)
    evaluate("object.spec.paused", {"object": {"spec": {}}})    ->  Result(error='Key not found in map : "paused"')
    evaluate("ip(object.spec.host).family() == 4", {...})       ->  Result(unknown="it needs ip, which ...")

https://kubernetes.io/docs/reference/using-api/cel/. Google's CEL and RE2 are the packages cel-expr-python and
google-re2. Only jobs with policies load them, with the first expression. tfgen has the functions of these packages and
the functions of `_functions`. An expression with another function of Kubernetes is unknown, and does not count as true.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tfgen.errors import MissingPackageError
from tfgen.kubernetes import quantity
from tfgen.words import either

if TYPE_CHECKING:
    from fractions import Fraction

VARIABLES: Final = ("object", "oldObject", "request", "params", "namespaceObject", "variables")
"""What an expression of a policy may name. `authorizer` is missing: it asks the cluster."""

_PACKAGES: Final = ("cel_expr_python", "re2")

_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']+)'")

_TEXT: Final = re.compile(
    r"[rRbB]{0,2}(\"{3}.*?\"{3}|'{3}.*?'{3}|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*')|//[^\n]*", re.DOTALL
)
"""Literals of text, and comments."""

_Quantity = dict[str, str]
"""A quantity among CEL's values: a map with the one key `quantity`, the exact number as a fraction."""


class Result(NamedTuple):
    """What an expression gives: a value, or an error, or why nobody here knows."""

    value: Any = None
    error: str = ""
    unknown: str = ""


def require_library() -> None:
    """Checks that there is something that evaluates CEL.

    Raises:
        MissingPackageError: the packages are not installed.
    """
    if any(importlib.util.find_spec(package) is None for package in _PACKAGES):
        raise MissingPackageError(
            "tfgen.yaml names policies in CEL, and the packages that evaluate CEL are not installed",
            "cel-expr-python",
            "google-re2",
        )


def evaluate(expression: str, data: Mapping[str, Any]) -> Result:
    """What an expression gives.

    Args:
        expression: the text.
        data: the value of each name of `VARIABLES`; null of one that is not there.
    """
    compiled = _compiled(expression)
    if isinstance(compiled, str):
        return Result(unknown=compiled)
    try:
        result = compiled.eval(data={name: data.get(name) for name in VARIABLES})
        value = result.plain_value()
    except (RuntimeError, TypeError, ValueError) as error:
        return Result(unknown=_failure(error))
    if result.type() == _library().Type.ERROR:
        _, _, reason = str(value).partition(": ")
        return Result(error=reason or str(value))
    return Result(value)


def names(expression: str) -> Iterator[tuple[str, ...]]:
    """The chains of names in an expression: ("object", "spec", "replicas"); of a call the function's too."""
    for chain in re.finditer(r"(?<![\w.])[A-Za-z_]\w*(?:\s*\??\.\s*\??[A-Za-z_]\w*)*", _TEXT.sub('""', expression)):
        yield tuple(re.findall(r"\w+", chain[0]))


def fields(expression: str) -> tuple[str, ...]:
    """The names of fields in an expression: what stands after a dot and is not called, in order."""
    return tuple(re.findall(r"\.\s*\??([A-Za-z_]\w*)(?!\w|\s*\()", _TEXT.sub('""', expression)))


@functools.cache
def _compiled(expression: str) -> Any:
    """An expression that can be evaluated, or, as text, why it cannot."""
    try:
        return _environment().compile(expression)
    except RuntimeError as error:
        message = str(error)
    if undeclared := dict.fromkeys(_UNDECLARED.findall(message)):
        return f"it needs {either(undeclared, 'and')}, which tfgen does not know"
    first, *_ = message.removeprefix("INVALID_ARGUMENT: ").splitlines()
    reason, _, _ = re.sub(r"ERROR: <input>:\d+:\d+: ", "", first).partition(" expecting ")
    return f"it is no CEL that tfgen reads: {reason}"


def _failure(error: Exception) -> str:
    """Say why the CEL library cannot evaluate an expression: a limit that Kubernetes lacks, or an optional value."""
    if "Iteration budget exceeded" in str(error):
        return "it takes more iterations than the 10,000 of the CEL library of tfgen"
    if isinstance(error, TypeError):
        return "it gives a value that the CEL library of tfgen cannot give to Python, such as an optional value"
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return f"the CEL library of tfgen fails: {first}"


@functools.cache
def _library() -> Any:
    require_library()
    from cel_expr_python import cel  # 0.4 s

    return cel


@functools.cache
def _environment() -> Any:
    cel = _library()
    from cel_expr_python.ext.ext_optional import ExtOptional
    from cel_expr_python.ext.ext_strings import ExtStrings

    variables = dict.fromkeys(VARIABLES, cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=[_functions(cel), ExtStrings(), ExtOptional()])


# -- Kubernetes' functions -----------------------------------------------------------------------------------------


def _functions(cel: Any) -> Any:
    """Quantities and searches: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library."""
    kind = cel.Type
    amount, text, whole = kind.Map(kind.STRING, kind.STRING), kind.STRING, kind.INT
    # By name: what it takes, what it gives, whether it is called on the first of what it takes, and what it does.
    overloads: Mapping[str, Sequence[tuple[Sequence[Any], Any, bool, Callable[..., Any]]]] = {
        "quantity": [((text,), amount, False, _quantity)],
        "isQuantity": [((text,), kind.BOOL, False, quantity.is_quantity)],
        "isLessThan": [((amount, amount), kind.BOOL, True, lambda a, b: _number(a) < _number(b))],
        "isGreaterThan": [((amount, amount), kind.BOOL, True, lambda a, b: _number(a) > _number(b))],
        "compareTo": [((amount, amount), whole, True, lambda a, b: _sign(_number(a) - _number(b)))],
        "sign": [((amount,), whole, True, lambda a: _sign(_number(a)))],
        "isInteger": [((amount,), kind.BOOL, True, lambda a: _number(a).denominator == 1)],
        "asInteger": [((amount,), whole, True, _as_integer)],
        "asApproximateFloat": [((amount,), kind.DOUBLE, True, lambda a: float(_number(a)))],
        "add": [
            ((amount, amount), amount, True, lambda a, b: _value(_number(a) + _number(b))),
            ((amount, whole), amount, True, lambda a, b: _value(_number(a) + b)),
        ],
        "sub": [
            ((amount, amount), amount, True, lambda a, b: _value(_number(a) - _number(b))),
            ((amount, whole), amount, True, lambda a, b: _value(_number(a) - b)),
        ],
        "find": [((text, text), text, True, lambda searched, pattern: next(_matches(searched, pattern), ""))],
        "findAll": [
            ((text, text), kind.List(text), True, lambda searched, pattern: [*_matches(searched, pattern)]),
            ((text, text, whole), kind.List(text), True, _first_matches),
        ],
    }
    declarations = [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(f"{name}_{index}", gives, list(takes), is_member, function)
                for index, (takes, gives, is_member, function) in enumerate(of_name)
            ],
        )
        for name, of_name in overloads.items()
    ]
    return cel.CelExtension("kubernetes", declarations)


def _quantity(text: str) -> _Quantity:
    return _value(quantity.parse(text))


def _value(number: Fraction | int) -> _Quantity:
    return {"quantity": str(number)}


def _number(value: _Quantity) -> Fraction:
    from fractions import Fraction  # 10 ms, which most jobs need not pay

    return Fraction(value["quantity"])


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def _as_integer(value: _Quantity) -> int:
    number = _number(value)
    if number.denominator != 1:
        raise ValueError("cannot convert value to integer")
    return int(number)


def _first_matches(searched: str, pattern: str, most: int) -> list[str]:
    matches = [*_matches(searched, pattern)]
    return matches if most < 0 else matches[:most]


def _matches(searched: str, pattern: str) -> Iterator[str]:
    """What a pattern finds in a text, from left to right: RE2 reads it as Kubernetes does, in linear time."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"illegal regex: {pattern}") from error
    for match in compiled.finditer(searched):
        yield match[0]
