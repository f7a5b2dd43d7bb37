"""The files that a rerun of one environment changes in a git repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.support import git_author
from tests.support.commit_repository import commit_all, git
from tests.support.tools import ROOT
from tfgen import cli

LONGEST = 6
"""The maximum number of changed files that a reviewer of a rerun accepts."""

# An example of each workload kind, with an environment of the example.
EXAMPLES = {
    "StatefulSet": ("dist-mnist", "dev"),
    "Job": ("tf1-translate", "plugin"),
    "TFJob": ("eks-tfjob", "dev"),
    "VolcanoJob": ("volcano-job", "prod"),
    "JobSet": ("jobset-mnist", "dev"),
    "Pod": ("eci-imagenet", "spot"),
    "ElasticDL": ("elasticdl-mnist", "prod"),
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_rerun_of_one_environment_changes_few_files(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, environment = EXAMPLES[kind]
    for name, value in git_author.VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch=main", ".")
    shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    job = f"{example}/job.yaml"
    if kind == "Job":
        assert cli.run(["set", job, "workload.kind=Job"]) == 0
    spec = yaml.safe_load(Path(job).read_text(encoding="utf-8"))["spec"]
    assert spec.get("workload", {}).get("kind", "StatefulSet") == kind
    assert cli.run(["render", job]) == 0
    commit_all()
    for _ in range(2):
        assert cli.run(["rerun", job, "--env", environment]) == 0
        assert cli.run(["render", job]) == 0
        changed = git("status", "--porcelain", "--untracked-files=all", "--no-renames").splitlines()
        assert {line[:3] for line in changed} == {" M "}
        assert len(changed) <= LONGEST
        overlays = [line[3:] for line in changed if line[3:].startswith("overlays/")]
        assert overlays == [f"overlays/{example}/{environment}/kustomization.yaml"]
        commit_all()
