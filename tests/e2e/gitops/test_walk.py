"""The kubectl commands of docs/gitops.md, unchanged."""

from __future__ import annotations

import re
import shlex

from tests.e2e.gitops.jobs import CLAIM, all_run, job
from tests.e2e.gitops.repository import Repository
from tests.support.tools import ROOT

COMMANDS = re.findall(r"^    kubectl (.*)$", (ROOT / "docs" / "gitops.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_what_the_document_applies_is_followed(repository: Repository) -> None:
    """The job has a claim that its first pod binds, so no wave may wait for the claim."""
    repository.write(job(storage=CLAIM))
    commit = repository.commit()
    commands = [command for command in COMMANDS if f"overlays/{repository.way.tool}" in command]
    assert commands
    for command in commands:
        words = shlex.split(command)
        repository.cluster.kubectl(*(repository.folder / w if w.startswith("overlays/") else w for w in words))
    repository.applied(commit)
    namespace = repository.cluster.client.get("Namespace", repository.namespace)
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    all_run(repository)
    repository.write(job(storage=CLAIM, retries=30))
    repository.applied(repository.commit())
