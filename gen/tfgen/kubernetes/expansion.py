"""References `$(X)` in a container's command, arguments and variables, as Kubernetes puts them in.

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
"""A reference, or the two signs that stand for one."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """The text with each variable put in; what is not set stays as it stands.

    >>> expand("$(HOST):$(PORT) $$(HOST) $HOST", {"HOST": "a"})
    'a:$(PORT) $(HOST) $HOST'
    """
    return REFERENCE.sub(lambda match: "$" if match[0] == "$$" else variables.get(match[1], match[0]), text)
