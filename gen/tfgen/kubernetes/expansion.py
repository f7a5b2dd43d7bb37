"""References `$(X)` in the command, the arguments and the variables of a container, as Kubernetes expands them.

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
"""Pattern of a reference `$(X)`, or of `$$`, the escape of a dollar sign."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand the references to variables in a text. References to unset variables remain unchanged.

    >>> expand("$(HOST):$(PORT) $$(HOST) $HOST", {"HOST": "a"})
    'a:$(PORT) $(HOST) $HOST'
    """
    return REFERENCE.sub(lambda match: "$" if match[0] == "$$" else variables.get(match[1], match[0]), text)
