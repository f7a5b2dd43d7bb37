"""Tests that messages name `tfgen import` for exactly the kinds that `tfgen import` reads."""

from __future__ import annotations

from tfgen.importers import FORMATS
from tfgen.importers.hand_written import _GROUPS, _KINDS
from tfgen.schema.hints import _IMPORTED, can_import


def test_every_form_of_one_object_is_named() -> None:
    objects = [
        job_format.source.split(" of ") for job_format in FORMATS if not job_format.source.startswith("the command")
    ]
    assert objects
    assert [kind for kind, group in objects if not can_import(kind, f"{group}/v1")] == []


def test_every_other_kind_is_a_part_of_hand_written_manifests() -> None:
    of_forms = {tuple(job_format.source.split(" of ")) for job_format in FORMATS}
    of_forms |= {("TfJob", "kubeflow.org"), ("TFJob", "training.kubedl.io")}
    for kind, groups in _IMPORTED.items():
        for group in groups:
            assert (kind, group) in of_forms or (kind in _KINDS and group in _GROUPS)
