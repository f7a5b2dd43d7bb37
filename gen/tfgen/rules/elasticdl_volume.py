"""Paths that contain a separator of ElasticDL's flag ``--volume=claim_name=c,mount_path=/data;...``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tfgen.data_path import Path
from tfgen.rules.finding import Finding
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

_SYNTAX: Final = ",;="


def _check(view: View) -> Iterator[Finding]:
    if view.job.structure.kind != "ElasticDL":
        return
    for name, volume in view.values["storage"].items():
        volume_path: Path = ("storage", name)
        texts = [((*volume_path, key), volume[key]) for key in ("mountPath", "subPath") if key in volume]
        if "hostPath" in volume:
            texts.append(((*volume_path, "hostPath", "path"), volume["hostPath"]["path"]))
        for path, text in texts:
            if separators := [separator for separator in _SYNTAX if separator in text]:
                message = (
                    f'the path {shown(text)} contains "{separators[0]}", a separator of ElasticDL\'s argument '
                    "--volume; choose a path without commas, semicolons and equals signs"
                )
                yield Finding(path, message)


RULES: Final = (
    Rule(
        "elasticdl-volume",
        "error",
        "The path of a volume contains a character that separates volumes in ElasticDL's argument `--volume`.",
        _check,
    ),
)
