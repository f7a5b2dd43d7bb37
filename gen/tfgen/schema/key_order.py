"""The order in which tfgen writes the keys of a job, for example in `tfgen init`.

key_order(("spec", "roles", "worker", "resources"))  ->  ("cpu", "memory", "requests", "limits", "gpu")
key_order(("spec", "env"))                           ->  None
"""

from __future__ import annotations

from typing import Final

from tfgen.data_path import Path
from tfgen.schema import file as schema_file

INIT_ORDER: Final = (
    "strategy",
    "legacyFlags",
    "legacyVariables",
    "workload",
    "run",
    "resumeFrom",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "command",
    "args",
    "workingDir",
    "port",
    "roles",
    "env",
    "envFrom",
    "storage",
    "shm",
    "gang",
    "completion",
)
"""The first keys of ``spec``, in order. The remaining keys follow in the order of the schema."""

_LAST: Final = ("outputs", "environments", "gitops")
_OF_ENVIRONMENT: Final = ("namespace", "cluster", "enabled")


def key_order(path: Path, schema: str = schema_file.NAME) -> tuple[str, ...] | None:
    """Return the allowed keys of a mapping in a document, in the order in which tfgen writes the keys.

    Args:
        path: the path of the mapping.
        schema: the name of the document's schema: the schema of a job or of a layer.

    Returns:
        The keys. None for a mapping whose keys are names, such as `env`, because the author determines the order of the
            names.
    """
    node = schema_file.node(schema_file.load(schema), path)
    if node is None or not schema_file.is_record(node):
        return None
    keys = node["properties"]
    if path == ("spec",) or (path[:2] == ("spec", "environments") and len(path) == 3):
        order = dict.fromkeys((*_OF_ENVIRONMENT, *INIT_ORDER, *(key for key in keys if key not in _LAST), *_LAST))
        return tuple(key for key in order if key in keys)
    return tuple(keys)
