"""Paths that ElasticDL's ``--volume`` would take apart: it has volumes as ``claim_name=c,mount_path=/data;...``."""

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
        here: Path = ("storage", name)
        texts = [((*here, key), volume[key]) for key in ("mountPath", "subPath") if key in volume]
        if "hostPath" in volume:
            texts.append(((*here, "hostPath", "path"), volume["hostPath"]["path"]))
        for path, text in texts:
            if marks := [mark for mark in _SYNTAX if mark in text]:
                message = (
                    f'the path {shown(text)} has "{marks[0]}", which parts ElasticDL\'s --volume; choose another path'
                )
                yield Finding(path, message)


RULES: Final = (Rule("elasticdl-volume", "error", "A path contains a separator of ElasticDL's --volume.", _check),)
