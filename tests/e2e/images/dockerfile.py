"""Reader of the Dockerfiles of the examples, without Docker.

    Dockerfile.read(Path("examples/dist-mnist/Dockerfile"))
      ->  Dockerfile(copies={"train.py": "/opt/train.py", ...}, config={"User": "65532:65532", ...})

The images here have their own base: `debian` and `python_packages` replace `FROM` and the effect of `RUN`. The reader
returns the example's own part: the copied files, and the variables, the user and the command. An unknown instruction is
an error, so that no image lacks its effect.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENTS = "requirements.txt"
"""The file that `RUN` installs. The Dockerfile copies the file only for this."""


class UnknownInstructionError(ValueError):
    """The error of an instruction in a Dockerfile that this module does not support."""


@dataclass(frozen=True)
class Dockerfile:
    """The example's own part of its image.

    Attributes:
        copies: a path in the build context -> its path in the image.
        config: as `oci.Image.config`.
    """

    copies: Mapping[str, str]
    config: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Dockerfile:
        """Read a Dockerfile.

        Raises:
            UnknownInstructionError: The file contains an instruction that this module does not support.
        """
        copies, config, env = {}, {}, []
        for name, text in instructions(path.read_text(encoding="utf-8")):
            match name:
                case "FROM" | "ARG" | "RUN":
                    pass
                case "COPY":
                    source, target = shlex.split(text)
                    if source != REQUIREMENTS:
                        copies[source] = target
                case "ENV":
                    env += shlex.split(text)
                case "USER":
                    config["User"] = text
                case "ENTRYPOINT":
                    config["Entrypoint"] = json.loads(text)
                case _:
                    raise UnknownInstructionError(f"{path}: {name} {text}")
        # https://github.com/docker-library/python sets PATH in the same way.
        return cls(copies, {**config, "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", *env]})


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each with its joined argument lines."""
    joined = re.sub(r"\\\n", " ", text)
    lines = (line.strip() for line in joined.splitlines())
    words = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return [(name.upper(), rest) for name, rest in words]
