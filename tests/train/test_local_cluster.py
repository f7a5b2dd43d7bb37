"""The cluster of local processes after a crash of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.local_cluster import LocalCluster

CRASHES = 'echo start >> "$0"; [ $(wc -l < "$0") -gt {crashes} ] || kill -SEGV $$'


@pytest.mark.parametrize(("crashes", "code"), [(0, 0), (1, 0), (2, -11)])
def test_a_chief_that_crashes_is_started_again_once(tmp_path: Path, crashes: int, code: int) -> None:
    command = ["sh", "-c", CRASHES.format(crashes=crashes), str(tmp_path / "starts")]
    with LocalCluster({"chief": ["a:2222"]}, command, tmp_path) as cluster:
        assert cluster.wait("chief", timeout=60) == code
