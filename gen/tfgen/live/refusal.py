"""Shortens the error messages of an API server, because a message may repeat whole objects.

brief_reason({"message": 'Job.batch "a" is invalid: spec.template: Invalid value: {...}: field is immutable', ...})
# 'Job.batch "a" is invalid: spec.template: field is immutable'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tfgen import data_path

_LONGEST: Final = 300
"""Maximum length of a message that tfgen prints unchanged, in characters."""
_VALUE: Final = re.compile(r"Invalid value: .*[}\])\"]: ", re.DOTALL)
_IMMUTABLE: Final = re.compile(r"immutable|may not change|updates to statefulset spec")


def brief_reason(status: Mapping[str, Any]) -> str:
    """Return the message of a `Status` object. Reduce a long message to the invalid fields and the fault of each field.

    Raises:
        TypeError: the `Status` has no message, or a field of the `Status` has an unexpected type.
        AttributeError: a field of the `Status` has an unexpected type.
    """
    message = status.get("message")
    if not isinstance(message, str) or not message:
        raise TypeError(message)
    if len(message) <= _LONGEST:
        return message
    causes = data_path.at(status, ("details", "causes")) or ()
    if status.get("reason") == "Invalid" and causes:
        faults = [f"{cause.get('field', '')}: {_without_value(cause.get('message', ''))}" for cause in causes]
        message = f"{message.partition(' is invalid: ')[0]} is invalid: {'; '.join(dict.fromkeys(faults))}"
    message = _without_value(message)
    return message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."


def is_immutable(message: str) -> bool:
    """Test whether an error message of the server reports a change of an immutable field."""
    return bool(_IMMUTABLE.search(message))


def _without_value(message: str) -> str:
    return _VALUE.sub("", message) if len(message) > _LONGEST else message
