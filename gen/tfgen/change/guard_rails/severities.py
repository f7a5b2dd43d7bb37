"""Check for rules that a change makes less severe, or lets a comment ignore.

base      rules: {plaintext-secret: {severity: error, ignorable: false}}
change    rules: {plaintext-secret: {severity: warning}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.change.guard_rails.layers import Layers, Loosening
from tfgen.check.severities import ORDER, severities_of

_DEFAULT: Final = "warning"


def find_lower_severities(layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each rule that becomes less severe, or that a comment may ignore only after the change.

    Yield another loosening if the base sets `warningsAsErrors: true` and the change does not.
    """
    before, after = severities_of(layers.before), severities_of(layers.after)
    if before.as_errors and not after.as_errors:
        message = f"warnings are no longer errors, but {layers.in_base(before.as_errors)} makes them errors"
        yield layers.loosening(before.as_errors, ("warningsAsErrors",), message)
    for rule in dict.fromkeys((*before.rules, *after.rules)):
        old, new = before.rules.get(rule), after.rules.get(rule)
        was, now = old.severity if old else _DEFAULT, new.severity if new else _DEFAULT
        if ORDER.index(now) < ORDER.index(was):
            set_by = f"{layers.in_base(old.place)} sets {was}" if old else f"{layers.revision} reports the warnings"
            message = f"rules.{rule}.severity: found {now if new else 'no entry'}, but {set_by}"
            if old:
                yield layers.loosening(old.place, ("rules", rule, "severity"), message)
            elif new:
                yield Loosening(new.place, new.place, message)
        if old and old.not_ignorable and not (new and new.not_ignorable):
            message = f"a comment in a job may now ignore {rule}, which {layers.in_base(old.not_ignorable)} forbids"
            yield layers.loosening(old.not_ignorable, ("rules", rule, "ignorable"), message)
