"""Tests of ``tfgen check --fix``: the files before and after, the diff, and the problems that remain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.repository import tfgen
from tfgen import cli

HEAD = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\n"
JOB = f"""{HEAD}spec:
  image: registry.internal/mnist:1.4.0  # the release
  stratgy: MultiWorkerMirrored
  shm: 4g
  deadline: 2h   # enough for a night
  imagePullSecrets: [hub]
  roles:
    worker: {{replicas: "4"}}
  code: null
"""
DIFF = """\
--- a/job.yaml
+++ b/job.yaml
@@ -3,10 +3,9 @@
 metadata: {name: mnist}
 spec:
   image: registry.internal/mnist:1.4.0  # the release
-  stratgy: MultiWorkerMirrored
+  strategy: MultiWorkerMirrored
   shm: 4g
-  deadline: 2h   # enough for a night
-  imagePullSecrets: [hub]
+  deadline: 7200   # enough for a night
+  imagePullSecrets: [{name: hub}]
   roles:
-    worker: {replicas: "4"}
-  code: null
+    worker: {replicas: 4}
"""
REMAINING = (
    'job.yaml:7:8: spec.shm: found "4g", expected a Kubernetes quantity such as 2, 500m, 1.5, 4Gi or 1e3; write 4Gi, '
    "or 4G for powers of 1000 [quantity]\n"
)


@pytest.fixture(autouse=True)
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a job file with five problems that a single edit fixes, and one problem with two possible values."""
    monkeypatch.chdir(tmp_path)
    job = tmp_path / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    return job


def test_the_diff_and_the_problems_that_remain(job: Path) -> None:
    out, err = tfgen("check", "--no-files", "--fix", "job.yaml", code=1)
    assert out == DIFF + REMAINING
    assert err == "5 problems fixed in 1 file\n1 error, 0 warnings; 0 jobs compared with HEAD\n"
    fixed = job.read_bytes()
    assert tfgen("check", "--no-files", "--fix", "job.yaml", code=1).out == REMAINING
    assert job.read_bytes() == fixed


def test_a_file_without_problems_is_code_zero(job: Path) -> None:
    job.write_text(JOB.replace("4g", "4Gi"), encoding="utf-8")
    assert tfgen("check", "--no-files", "--fix", "job.yaml").out == DIFF.replace("4g", "4Gi")


def test_every_other_byte_remains(job: Path) -> None:
    marked = f"\ufeff{JOB}".replace("\n", "\r\n").encode()
    job.write_bytes(marked)
    cli.run(["check", "--no-files", "--fix", "job.yaml"])
    changed = [b"stratgy", b"2h", b"[hub]", b'"4"', b"  code: null\r\n"]
    instead = [b"strategy", b"7200", b"[{name: hub}]", b"4", b""]
    for old, new in zip(changed, instead, strict=True):
        marked = marked.replace(old, new)
    assert job.read_bytes() == marked


def test_json_has_the_fixes(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job.write_text(JOB.replace("2h", "7200").replace("  code: null\n", "").replace('"4"', "4"), encoding="utf-8")
    cli.run(["check", "--no-files", "--fix", "job.yaml", "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    assert [problem["rule"] for problem in result["problems"]] == ["quantity"]
    assert result["fixes"] == [
        {
            "file": "job.yaml",
            "rule": "unknown-key",
            "message": 'unknown key "stratgy" in spec; did you mean "strategy"?',
            "fix": 'change to "strategy"',
        },
        {
            "file": "job.yaml",
            "rule": "wrong-type",
            "message": 'spec.imagePullSecrets[0]: found the text "hub", expected a mapping; write {name: hub}',
            "fix": "write {name: hub}",
        },
    ]


def test_the_defaults_in_the_folder_are_fixed_first(job: Path) -> None:
    (job.parent / "tfgen.yaml").write_text(
        "apiVersion: tfgen/v1alpha1\nkind: Defaults\nspec: {imag: registry.internal/base:1}\n", encoding="utf-8"
    )
    job.write_text(f"{HEAD}spec:\n  roles: {{chief: {{}}, ps: {{}}, worker: {{replicas: '4'}}}}\n", encoding="utf-8")
    tfgen("check", "--no-files", "--fix", "job.yaml", code=1)
    assert "{imag: " in (job.parent / "tfgen.yaml").read_text(encoding="utf-8")  # only the job was passed
    tfgen("check", "--no-files", "--fix", ".")
    assert "{image: " in (job.parent / "tfgen.yaml").read_text(encoding="utf-8")
    assert "replicas: 4" in job.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "--fix edits files; pass a file or a folder in place of -"),
        (["job.yaml", "--read", "index"], "--fix edits the files on disk; remove --read index"),
    ],
)
def test_only_files_on_disk_are_fixed(job: Path, arguments: list[str], message: str) -> None:
    assert tfgen("check", "--fix", *arguments, code=2).err == f"tfgen: error: {message}\n"
    assert job.read_text(encoding="utf-8") == JOB
