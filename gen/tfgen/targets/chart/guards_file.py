"""``templates/guards.yaml``: what stops Helm before it prints anything. Nothing of it reaches the cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tfgen.graph.holes import Guard
from tfgen.graph.template import Template
from tfgen.targets.chart.go_template import Printer
from tfgen.targets.chart.upgrade_guards import upgrade_guards

_HEAD: Final = "{{- /* What values.schema.json cannot say. */}}\n"
_INCLUDE: Final = re.compile(r'include "([^"]+)" [.$](?=[ )])')
"""A helper that takes the root context alone."""


def guards_file(printer: Printer, guards: Sequence[Guard], templates: Sequence[Template]) -> str:
    """The file's text; what a helper prints stands in a variable where it is asked for more than once."""
    includes = _INCLUDE.findall(_checks(printer, guards, templates))
    often = [name for name in dict.fromkeys(includes) if includes.count(name) > 1]
    variables = {name: f"${_camel_case(name.removeprefix(f'{printer.chart}.'))}" for name in often}
    assigned = "".join(f'{{{{- {variable} := include "{name}" . }}}}\n' for name, variable in variables.items())
    return _HEAD + assigned + _checks(printer.replaced(variables=variables), guards, templates)


def _checks(printer: Printer, guards: Sequence[Guard], templates: Sequence[Template]) -> str:
    return printer.guards(guards) + upgrade_guards(printer, templates)


def _camel_case(name: str) -> str:
    first, *others = re.split("[.-]", name)
    return first + "".join(word[:1].upper() + word[1:] for word in others)
