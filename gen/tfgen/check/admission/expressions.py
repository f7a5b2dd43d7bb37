"""Evaluation of CEL, the expression language of admission policies, with Kubernetes' quantities and text searches.

For an object with 7 replicas, the expression `object.spec.replicas <= 5` has the value False.

https://kubernetes.io/docs/reference/using-api/cel/. Google's CEL and RE2 are the packages cel-expr-python and
google-re2. tfgen loads these packages when a policy is evaluated for the first time. tfgen supports the functions of
these packages and of `_functions`. For an expression with a different function of Kubernetes, `Result.obstacle` is set.
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
"""Names that an expression of a policy may read, without `authorizer`, which needs a cluster."""

_PACKAGES: Final = ("cel_expr_python", "re2")

_UNDECLARED: Final = re.compile(r"undeclared reference to '([^']+)'")

_TEXT: Final = re.compile(
    r"[rRbB]{0,2}(\"{3}.*?\"{3}|'{3}.*?'{3}|\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*')|//[^\n]*", re.DOTALL
)
"""Pattern of the text literals and the comments in a CEL expression."""

_Quantity = dict[str, str]
"""A quantity as a CEL value: a map whose only key `quantity` has the exact number as a fraction, such as `1/2`."""


class Result(NamedTuple):
    """Result of a CEL expression: a value, an error or an obstacle.

    Attributes:
        value: the value.
        error: the error in the expression, which the API server would report too.
        obstacle: the reason why tfgen cannot evaluate the expression.
    """

    value: Any = None
    error: str = ""
    obstacle: str = ""


def require_library() -> None:
    """Check that the packages that evaluate CEL are installed.

    Raises:
        MissingPackageError: the packages are not installed.
    """
    if any(importlib.util.find_spec(package) is None for package in _PACKAGES):
        raise MissingPackageError(
            "tfgen.yaml names policies in CEL, but the packages that evaluate CEL are not installed",
            "cel-expr-python",
            "google-re2",
        )


def evaluate(expression: str, data: Mapping[str, Any]) -> Result:
    """Evaluate a CEL expression.

    Args:
        expression: the text of the expression.
        data: the values of the names in `VARIABLES`. Example: {"object": {"spec": {"replicas": 7}}}. A missing name has
            the value null.
    """
    compiled = _compiled(expression)
    if isinstance(compiled, str):
        return Result(obstacle=compiled)
    try:
        result = compiled.eval(data={name: data.get(name) for name in VARIABLES})
        value = result.plain_value()
    except (RuntimeError, TypeError, ValueError) as error:
        return Result(obstacle=_failure(error))
    if result.type() == _library().Type.ERROR:
        _, _, reason = str(value).partition(": ")
        return Result(error=reason or str(value))
    return Result(value)


def names(expression: str) -> Iterator[tuple[str, ...]]:
    """Yield each chain of names in an expression, such as ("object", "spec", "replicas"), including function names."""
    for chain in re.finditer(r"(?<![\w.])[A-Za-z_]\w*(?:\s*\??\.\s*\??[A-Za-z_]\w*)*", _TEXT.sub('""', expression)):
        yield tuple(re.findall(r"\w+", chain[0]))


def fields(expression: str) -> tuple[str, ...]:
    """Return the field names in an expression, in order: each name after a dot that is not the name of a function."""
    return tuple(re.findall(r"\.\s*\??([A-Za-z_]\w*)(?!\w|\s*\()", _TEXT.sub('""', expression)))


@functools.cache
def _compiled(expression: str) -> Any:
    """Return the compiled expression, or a text with the reason why tfgen cannot evaluate the expression."""
    try:
        return _environment().compile(expression)
    except RuntimeError as error:
        message = str(error)
    if undeclared := dict.fromkeys(_UNDECLARED.findall(message)):
        return f"the expression needs {either(undeclared, 'and')}, which tfgen does not support"
    first, *_ = message.removeprefix("INVALID_ARGUMENT: ").splitlines()
    reason, _, _ = re.sub(r"ERROR: <input>:\d+:\d+: ", "", first).partition(" expecting ")
    return f"tfgen cannot read the CEL expression: {reason}"


def _failure(error: Exception) -> str:
    """Return the reason why the CEL library fails, for example because the expression exceeds a limit."""
    if "Iteration budget exceeded" in str(error):
        return "the expression exceeds the limit of 10,000 iterations of tfgen's CEL library"
    if isinstance(error, TypeError):
        return "the expression returns a value that the CEL library of tfgen cannot convert, such as an optional value"
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return f"the CEL library of tfgen fails with the error {first}, so only the cluster evaluates the expression"


@functools.cache
def _library() -> Any:
    require_library()
    from cel_expr_python import cel  # takes 0.4 s

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
    """Return a CEL extension with the functions of Kubernetes for quantities and for searches in texts.

    https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-quantity-library
    """
    kind = cel.Type
    amount, text, whole = kind.Map(kind.STRING, kind.STRING), kind.STRING, kind.INT
    # By name: the types of the arguments, the type of the result, True for a method of the first argument, and the
    # implementation.
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
                cel.Overload(f"{name}_{index}", result, list(arguments), is_member, function)
                for index, (arguments, result, is_member, function) in enumerate(signatures)
            ],
        )
        for name, signatures in overloads.items()
    ]
    return cel.CelExtension("kubernetes", declarations)


def _quantity(text: str) -> _Quantity:
    return _value(quantity.parse(text))


def _value(number: Fraction | int) -> _Quantity:
    return {"quantity": str(number)}


def _number(value: _Quantity) -> Fraction:
    from fractions import Fraction  # takes 10 ms, which most jobs save

    return Fraction(value["quantity"])


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def _as_integer(value: _Quantity) -> int:
    number = _number(value)
    if number.denominator != 1:
        raise ValueError("cannot convert value to integer")
    return int(number)


def _first_matches(searched: str, pattern: str, limit: int) -> list[str]:
    matches = [*_matches(searched, pattern)]
    return matches if limit < 0 else matches[:limit]


def _matches(searched: str, pattern: str) -> Iterator[str]:
    """Yield the matches of a pattern in a text, from left to right. The function uses RE2, as Kubernetes does."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"illegal regex: {pattern}") from error
    for match in compiled.finditer(searched):
        yield match[0]
