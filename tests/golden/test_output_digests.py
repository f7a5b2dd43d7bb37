"""The files and the objects of many jobs are those of the list. A change of the structure changes no output."""

from __future__ import annotations

import pytest

from tests.support import output_digests

pytestmark = pytest.mark.long


def test_no_output_has_changed() -> None:
    """To compare the files of two versions, and to write the list again: tests/support/output_digests.py."""
    assert output_digests.changed() == []


def test_the_list_has_every_whole_job_and_hundreds_of_thinned_jobs() -> None:
    names = [*output_digests.listed()]
    whole = [name for name in names if not name.startswith("thinned ")]
    assert whole == [*output_digests.whole_jobs()]
    assert len(names) - len(whole) == output_digests.THINNED
