"""The files of a chart that depend only on the structure of a job: templates, helper files, guards and notes.

tfgen prints these files once for all jobs with the same structure. The files contain a placeholder for the name of the
chart, and tfgen later replaces the placeholder. The wrapping of lines depends on the length of the name, so tfgen
wraps the lines once for all names of the same length. The cache on disk contains the files, because most edits of a job
do not change its structure.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from tfgen.graph.structure_cache import MAX_CACHED, NAME, StructureText
from tfgen.job.training_job import Structure
from tfgen.tree.cache import cached_texts


def template_files(structure: Structure, *, uses_cache: bool = False) -> dict[str, str]:
    """Return the text of each template, of each helper file, of the guards file and of the notes.

    The keys of the result are paths in the chart. Example: {"templates/worker.yaml": "apiVersion: ..."}.

    Args:
        structure: the structure of the job.
        uses_cache: whether to read the files from the cache on disk, and to write new files to the cache.
    """
    name = structure.name
    mark = NAME * len(name)
    files = _printed(StructureText(structure), len(name), uses_cache)
    return {path: text.replace(mark, name) for path, text in files.items()}


@functools.lru_cache(maxsize=MAX_CACHED)
def _printed(structure_text: StructureText, length: int, uses_cache: bool) -> Mapping[str, str]:
    def print_files() -> Mapping[str, str]:
        from tfgen.targets.chart.print_templates import print_templates  # takes 10 ms, which cached templates save

        return print_templates(structure_text.structure, length)

    parts = (b"templates", structure_text.text.encode(), b"%d" % length)
    return cached_texts(parts, print_files) if uses_cache else print_files()
