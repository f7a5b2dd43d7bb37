"""A way out that is limited on paper only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.rules.rule import Finding, Rule
from tfgen.rules.view import View


def _check(view: View) -> Iterator[Finding]:
    network = view.values["network"]
    if network["egress"]["limited"] and network["policy"] == "Off":
        path = view.blamed(("network", "policy"), ("network", "egress", "limited"))
        message = "network.policy is Off, so that nothing limits egress; set it to Isolated, or egress.limited to false"
        yield Finding(path, message)


RULES: Final = (Rule("egress-unlimited", "error", "Egress is limited, but there is no network policy.", _check),)
