"""Tests of the files that a command reads: their selection, and their content in memory."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
import yaml

from tfgen.errors import TfgenError
from tfgen.job.sources import OnDisk, Source, read_sources

TEXT = "apiVersion: tfgen/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\n"
JOB = TEXT.encode()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(JOB)


def test_the_files_below_a_folder_come_in_order_of_their_paths() -> None:
    write("jobs/a/z.yaml", "jobs/a.yaml", "jobs/a-b/y.yaml", "jobs/B.yaml", "jobs/.hidden/x.yaml", "jobs/a/.x.yaml")
    write("elsewhere/w.yaml")
    Path("jobs/link").symlink_to(Path("elsewhere").absolute())
    names = [source.file for source in read_sources([Path("jobs")])]
    assert names == ["jobs/B.yaml", "jobs/a/z.yaml", "jobs/a-b/y.yaml", "jobs/a.yaml"]
    assert names == [str(path) for path in sorted(map(Path, names))]


def test_what_a_file_holds_is_read_again_where_it_is_asked_for() -> None:
    write("job.yaml")
    (source,) = read_sources([Path("job.yaml")])
    assert isinstance(source.content, OnDisk)
    assert source.read() == source.read() == JOB
    assert source.identity == Source("job.yaml", JOB).identity != Source("job.yaml", JOB + b"#").identity


def test_a_file_that_is_not_what_it_was_is_an_error() -> None:
    write("job.yaml")
    (source,) = read_sources([Path("job.yaml")])
    Path("job.yaml").write_bytes(JOB + b"# edited\n")
    with pytest.raises(TfgenError, match=r"^job\.yaml: the file changed while tfgen ran; run the command again$"):
        source.read()
    Path("job.yaml").unlink()
    with pytest.raises(TfgenError, match=r"^job\.yaml: No such file or directory$"):
        source.read()


def test_a_pipe_is_read_once() -> None:
    os.mkfifo("job.yaml")
    threading.Thread(target=Path("job.yaml").write_bytes, args=(JOB,), daemon=True).start()
    (source,) = read_sources([Path("job.yaml")])
    assert source.read() == source.read() == JOB


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "\ufeff" + TEXT,
        TEXT.replace("apiVersion:", "apiVersion :"),
        TEXT.replace("apiVersion: ", "apiVersion: &version "),
        TEXT.replace("apiVersion:", '"apiVersion":'),
        TEXT.replace("apiVersion: ", "apiVersion: !!str "),
        TEXT.replace("apiVersion:", '"api\\u0056ersion":'),
        "? apiVersion\n: tfgen/v1alpha1\nkind: TrainingJob\n",
        "x: &version tfgen/v1alpha1\napiVersion: *version\n",
        json.dumps(yaml.safe_load(TEXT)),
        json.dumps(yaml.safe_load(TEXT), indent=2).replace("tfgen/", "tfgen\\/"),
        "".join(f" {line}\n" for line in TEXT.splitlines()),
        'apiVersion: "tfgen/v1alpha1\n',
    ],
)
def test_a_folder_has_the_jobs_of_every_form_of_yaml(tmp_path: Path, text: str) -> None:
    """The last text looks like a job, and is not YAML: a check of the folder reports the reason."""
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    assert [source.file for source in read_sources([tmp_path])] == [str(tmp_path / "job.yaml")]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {tfgen/job: mnist}}\n",
        "spec:\n  apiVersion: tfgen/v1alpha1\n",
        "x: &version v1\napiVersion: *version\nnote: tfgen/v1alpha1\n",
    ],
)
def test_a_manifest_of_another_program_is_no_job(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    assert read_sources([tmp_path], may_be_none=True) == []
