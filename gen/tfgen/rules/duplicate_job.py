"""Two jobs of one name, which would write the same folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tfgen.rules.rule import AcrossRule, Clash
from tfgen.text.document import Document
from tfgen.words import shown

_NAME: Final = ("metadata", "name")


def _check(documents: Sequence[Document]) -> Iterator[Clash]:
    first: dict[str, Document] = {}
    for document in documents:
        name = document.data["metadata"]["name"]
        other = first.setdefault(name, document)
        if other is not document:
            line = other.value(_NAME).line
            message = f"the job {shown(name)} is at {other.file}:{line} already, and both would be charts/{name}"
            yield Clash(document, _NAME, message)


RULES: Final = (AcrossRule("duplicate-job", "error", "Two jobs have the same name.", _check),)
