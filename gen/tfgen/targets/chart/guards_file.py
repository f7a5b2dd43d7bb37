"""Writes ``templates/guards.yaml``: checks that stop Helm before Helm prints objects. The file contains no object.

Guard("too-many", at="roles", when=Greater(REPLICAS, 3), say="there are too many")  ->
    {{- if gt (int64 .Values.roles.worker.replicas) 3 }}
    {{- fail "there are too many" }}
    {{- end }}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from tfgen.graph.holes import Guard
from tfgen.graph.template import Template
from tfgen.targets.chart.go_template.expressions import argument, expression, range_action
from tfgen.targets.chart.go_template.lines import assign
from tfgen.targets.chart.go_template.syntax import Context, Lines
from tfgen.targets.chart.upgrade_guards import upgrade_guards

_HEAD: Final = "{{- /* Checks that values.schema.json cannot express. */}}"
_INCLUDE: Final = re.compile(r'(\()?include "(?P<name>[^"]+)" [.$](?(1)\)|(?=[ )]))')
"""Pattern of the ``include`` of a named template whose argument is the root context."""


def guards_file(guards: Sequence[Guard], templates: Sequence[Template], context: Context) -> str:
    """Return the text of ``templates/guards.yaml``.

    If the lines include a named template several times, a variable contains the output of the named template.
    """
    checks = [*_guards(guards, context, depth=0), *upgrade_guards(templates, context)]
    calls = Counter(include["name"] for line in checks for include in _INCLUDE.finditer(line))
    repeated = [name for name, number in calls.items() if number > 1]
    variables = {name: f"${_camel_case(name.removeprefix(f'{context.chart}.'))}" for name in repeated}
    assignments = [f'{{{{- {variable} := include "{name}" . }}}}' for name, variable in variables.items()]
    with_variables = (_INCLUDE.sub(lambda match: variables.get(match["name"], match[0]), line) for line in checks)
    return "".join(f"{line}\n" for line in [_HEAD, *assignments, *with_variables])


def guard_checks(guards: Sequence[Guard], context: Context) -> str:
    """Return the template text of the guards. Neighbouring guards share a ``range`` or variables if possible."""
    return "".join(f"{line}\n" for line in _guards(guards, context, depth=0))


def _guards(guards: Sequence[Guard], context: Context, depth: int) -> Lines:
    lines: Lines = []
    for entries, run in groupby(guards, key=lambda guard: (guard.over[depth:] or (None,))[0]):
        if entries is None:
            for let, tests in groupby(run, key=lambda guard: guard.let):
                for name, node in let:
                    lines += assign(name, node, context)
                    context = context.with_names(name)
                lines += [line for guard in tests for line in _guard(guard, context)]
        else:
            head = f"{{{{- {range_action(entries, context)} }}}}"
            body = _guards(list(run), context.range_body_of(entries), depth + 1)
            lines += [head, *body, "{{- end }}"]
    return lines


def _guard(guard: Guard, context: Context) -> Lines:
    test, message = expression(guard.when, context), argument(guard.say, context)
    return [f"{{{{- if {test} }}}}", f"{{{{- fail {message} }}}}", "{{- end }}"]


def _camel_case(name: str) -> str:
    first, *remaining = re.split("[.-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in remaining)
