"""Tests of the jobs whose rendered files are unchanged."""

from __future__ import annotations

from tfgen.change.committed import jobs_with_changed_overlays


def test_the_jobs_of_changed_overlays() -> None:
    # git lists a folder alone if the folder is a submodule or was a symbolic link.
    paths = {"overlays", "charts/a/values.yaml", ".tfgen/b.json", "overlays/c/dev/worker.yaml", "overlays/flux/x.yaml"}
    assert jobs_with_changed_overlays(paths) == {"c", "flux"}
