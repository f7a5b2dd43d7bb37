"""Example addresses, which no cluster can reach, in jobs that a GitOps tool applies and in the workflow of CI.

https://www.rfc-editor.org/rfc/rfc2606 reserves some host names for examples. The rule checks only jobs with `gitops`.
A job without `gitops` may be a new job, into which `tfgen init` wrote example addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tfgen import data_path
from tfgen.data_path import Path
from tfgen.job.defaults import names_registry
from tfgen.problems import Position, Problem
from tfgen.rules.finding import Finding
from tfgen.rules.images import images
from tfgen.rules.rule import Rule
from tfgen.rules.view import View
from tfgen.words import shown

_EXAMPLE: Final = re.compile(r"(?:.*\.)?(?:example\.(?:com|net|org)|example)", re.IGNORECASE)
_HOST_OF_REPOSITORY: Final = re.compile(r"(?:[a-z]+://)?(?:[^@/]+@)?([^:/]+)")

_INSTALLED: Final = re.compile(r"tfgen-charts\S* @ (?P<address>git\+https?://(?P<host>[^/:\s]+)[^\s\"']*)")
"""The requirement in the workflow that `tfgen init --repo` writes."""

_REPOSITORIES: Final[tuple[Path, ...]] = (("gitops", "repository"), ("code", "git", "repository"))


def _check(view: View) -> Iterator[Finding]:
    if not view.spec.get("gitops"):
        return
    for path in _REPOSITORIES:
        repository = data_path.at(view.spec, path)
        if isinstance(repository, str) and _is_example(_HOST_OF_REPOSITORY.match(repository)):
            yield Finding(
                path,
                f"the repository {shown(repository)} has an example host, which no cluster can reach; write the "
                "address of your repository",
            )
    for path, image in (*images(view), *_finisher_image(view.values)):
        if names_registry(image) and _is_example(re.match("[^/:]+", image)):
            yield Finding(
                path,
                f"the image {shown(image)} is in an example registry, which no cluster can reach; write your registry "
                "here, or as registry in tfgen.yaml",
            )


def example_installations(file: str, text: str) -> Iterator[Problem]:
    """Yield a problem for each line of a workflow that installs tfgen from an example host.

    Args:
        file: the path of the workflow.
        text: the text of the workflow.
    """
    for number, line in enumerate(text.splitlines(), 1):
        found = _INSTALLED.search(line)
        if found and _EXAMPLE.fullmatch(found["host"]):
            yield Problem(
                file,
                Position(number, found.start("address") + 1),
                f"{shown(found['address'])} has an example host, so CI cannot install tfgen; write the address of your "
                "tfgen and a commit",
                "example-host",
                "warning",
            )


def _finisher_image(values: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    path: Path = ("completion", "image")
    image = data_path.at(values, path)
    if isinstance(image, str) and image:
        yield path, image


def _is_example(host: re.Match[str] | None) -> bool:
    return host is not None and _EXAMPLE.fullmatch(host[host.lastindex or 0]) is not None


RULES: Final = (
    Rule(
        "example-host",
        "warning",
        "A job with `gitops` uses an example host such as `example.com`.",
        _check,
    ),
)
