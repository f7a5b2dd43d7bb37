"""Digests of the files and the objects of many jobs, so that a change of the structure cannot change an output.

    python -m tests.support.output_digests                  # print the jobs whose files differ from the list
    python -m tests.support.output_digests --write          # write the list again, after a review of each difference
    python -m tests.support.output_digests --files FOLDER   # write all files, to compare two versions with diff -r

The jobs are the examples, the cases of tests/golden, and jobs that a seeded generator thins out and changes. The list,
tests/golden/digests.txt, has one line for each job. The number in the name of a thinned job is its seed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support.tools import ROOT
from tfgen.check.jobs import check
from tfgen.errors import has_errors
from tfgen.graph.graph import build
from tfgen.targets.render import render

LIST: Final = ROOT / "tests" / "golden" / "digests.txt"
THINNED: Final = 500
"""Number of thinned jobs in the list."""
_KEPT: Final = frozenset({"apiVersion", "kind", "metadata", "name", "spec", "image", "roles"})
"""Keys that the generator never removes, because nearly every job without one of these keys is invalid."""
_ROLES: Final = ("chief", "ps", "worker", "evaluator")


def whole_jobs() -> dict[str, str]:
    """Return the text of each example and of each case of tests/golden, by its folder."""
    paths = sorted((*ROOT.glob("examples/*/job.yaml"), *ROOT.glob("tests/golden/*/job.yaml")))
    return {path.parent.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def thinned_job(seed: int) -> Any:
    """Return a whole job from which about a third of the keys are missing, and whose numbers are changed."""
    draw = random.Random(seed)
    texts = whole_jobs()
    data = next(yaml.safe_load_all(texts[draw.choice(sorted(texts))]))
    share = draw.choice((0.1, 0.3, 0.5))
    return _thinned(data, draw, share)


def _thinned(value: Any, draw: random.Random, share: float) -> Any:
    if isinstance(value, Mapping):
        keys = [key for key in value if key in _KEPT or key in _ROLES[:3] or draw.random() >= share]
        return {key: _thinned(value[key], draw, share) for key in keys}
    if type(value) is int and draw.random() < share:
        return value + draw.choice((0, 1, 1, 2))
    return value


def jobs(names: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Yield the data of each named job."""
    texts = whole_jobs()
    for name in names:
        kind, _, seed = name.partition(" ")
        yield name, thinned_job(int(seed)) if kind == "thinned" else next(yaml.safe_load_all(texts[name]))


def outputs(data: Any) -> dict[str, str]:
    """Return the text of each rendered file of a job, by path, and the objects of each environment as JSON."""
    built = build(data)
    variants = {"base": built.base, **built.environments}
    objects = {f"objects/{name}.json": json.dumps([*items.values()], indent=1) for name, items in variants.items()}
    return {**render(data).tree.files, **objects}


def digest(data: Any) -> str:
    """Return one digest of all outputs of a job."""
    whole = hashlib.sha256()
    for path, text in sorted(outputs(data).items()):
        whole.update(f"{path}\0{text}\0".encode())
    return whole.hexdigest()[:32]


def listed() -> dict[str, str]:
    """Return the digests in the list, by the name of the job."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {name: found for found, _, name in (line.partition(" ") for line in lines)}


def changed() -> list[str]:
    """Return the names of the jobs whose files differ from the list."""
    expected = listed()
    return [name for name, data in jobs(iter(expected)) if digest(data) != expected[name]]


def _valid_names() -> Iterator[str]:
    """Yield the names of all whole jobs, and of the first valid thinned jobs."""
    yield from whole_jobs()
    seed = found = 0
    while found < THINNED:
        text = yaml.safe_dump(thinned_job(seed), sort_keys=False)
        if not has_errors(check(text, "job.yaml").problems):
            found += 1
            yield f"thinned {seed}"
        seed += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write the list again")
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="write the files of each job into a new folder")
    options = parser.parse_args()
    if options.write:
        lines = (f"{digest(data)} {name}\n" for name, data in jobs(_valid_names()))
        LIST.write_text("".join(lines), encoding="utf-8")
    elif options.files:
        for name, data in jobs(iter(listed())):
            for path, text in outputs(data).items():
                file = options.files / name.replace("/", "-").replace(" ", "-") / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    else:
        print("\n".join(changed()))


if __name__ == "__main__":
    main()
