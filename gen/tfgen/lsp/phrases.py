"""Parse the fixes that the message of a problem proposes, such as `write 4Gi`.

>>> [*proposed_fixes('unknown key "replica" in spec; did you mean "replicas"?')]
[ProposedFix(verb='mean', words='replicas')]
>>> [*proposed_fixes('spec.shm: found "4g", expected a quantity; write 4Gi, or 4G for powers of 1000')]
[ProposedFix(verb='write', words='4Gi'), ProposedFix(verb='write', words='4G')]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_MEANT: Final = re.compile(r'[;,] did you mean (?P<names>"(?:[^"\\]|\\.)*"|[^?"]+)\?')
_CLAUSE: Final = re.compile(r"; (?P<clause>(?:write|add|set|remove|quote|use) .*)")
_IN_PLACE: Final = re.compile(r"; write .*in its place, (?P<words>.+)")
_VERB: Final = re.compile(r"(?P<verb>write|add|set|remove|quote|use) (?P<words>.*)")

_GROUP: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'[^']+'|\([^()]*\)|[{\[]""")
"""Pattern of quoted text, of text in parentheses, or of the bracket that begins a YAML mapping or list."""
_CUT: Final = re.compile(
    r" \((?:[^()]+ (?:makes this an error|turns warnings into errors)|in the|also in|allowed)"
    r"|, (?:in seconds|without|which|each)\b| (?:for|to switch|first|instead)\b|: the environment\b|;"
)
"""Pattern of the first words of an explanation that follows a fix in a message."""
_OR: Final = re.compile(r",? or ")
_SECOND_EDIT: Final = ", and "

_VALUE: Final = r'(?:"(?:[^"\\]|\\.)*"|\{.*\}|\[.*\]|[^\s{\["]\S*)'
_ONE_EDIT: Final = {
    "write": re.compile(rf"(?:the items by name: )?(?:[^\s:]+: )?{_VALUE}|it without quotes|a blank|[\"']"),
    "add": re.compile(rf"[^\s:]+: {_VALUE}|[a-z]+"),
    "set": re.compile(rf"[\w.]+ to {_VALUE}|[a-z][\w.]* of the job|the \w+ only in \w+"),
    "remove": re.compile(r"it|this|this entry|this line|the key|the comment|the variable|[a-z]\w+"),
    "quote": re.compile(r"it: .+"),
    "use": re.compile("blanks"),
}
"""The pattern of the words after each verb, for the fixes that a single edit can apply. The keys are the verbs."""
_PLACEHOLDER: Final = re.compile(r"\.\.\.|\bLINE\b")
"""Pattern of a placeholder in a fix. The user has to replace the placeholder."""
_PRONOUNS: Final = ("it", "them", "that", "those", "one")
_DUPLICATE: Final = "one of the two entries"


class ProposedFix(NamedTuple):
    """A fix that a message proposes.

    Attributes:
        verb: the verb of the fix, such as `write` or `remove`; `mean` for a proposal such as `did you mean
            "replicas"?`.
        words: the words after the verb, such as `4Gi`.
    """

    verb: str
    words: str


def proposed_fixes(message: str) -> Iterator[ProposedFix]:
    """Yield the fixes that a message proposes, in the order of the message. Omit each fix that needs several edits."""
    if meant := _MEANT.search(message):
        names = meant["names"]
        for name in [json.loads(names)] if names.startswith('"') else names.split(" or "):
            yield ProposedFix("mean", name)
    if in_place := _IN_PLACE.search(message):
        parts = [f"write {in_place['words'][1:-1] if in_place['words'].startswith('{') else in_place['words']}"]
    else:
        clause = _CLAUSE.search(message)
        parts = [*_alternatives(clause["clause"])] if clause else []
    verb = ""
    for part in parts:
        with_verb = _VERB.fullmatch(part)
        verb, words = with_verb.groups() if with_verb else (verb, part)
        if words == _DUPLICATE and "is already in the list" in message:
            words = "it"
        is_named = words not in _PRONOUNS or (verb, words) == ("remove", "it")
        if is_named and _ONE_EDIT[verb].fullmatch(words) and not _PLACEHOLDER.search(words):
            yield ProposedFix(verb, words)


def _alternatives(clause: str) -> Iterator[str]:
    """Yield each fix in a part of a message: "write 4Gi", then "4G", for "write 4Gi, or 4G for powers of 1000".

    The function removes explanations, such as "for powers of 1000", and omits each fix that needs several edits.
    """
    part, at, is_explained, is_one_edit = "", 0, False, True
    while at < len(clause):
        if (choice := _OR.match(clause, at)) and part:
            if is_one_edit:
                yield part
            part, at, is_explained, is_one_edit = "", choice.end(), False, True
            continue
        is_explained = is_explained or _CUT.match(clause, at) is not None
        is_one_edit = is_one_edit and not clause.startswith(_SECOND_EDIT, at)
        end = _group_end(clause, at)
        part += "" if is_explained else clause[at:end]
        at = end
    if part and is_one_edit:
        yield part


def _group_end(text: str, start: int) -> int:
    """Return the offset after the text in quotes, brackets, braces or parentheses that begins at `start`.

    If no such text begins at `start`, return `start + 1`.
    """
    group = _GROUP.match(text, start)
    if group is None or group[0] not in ("{", "["):
        return group.end() if group else start + 1
    depth, at = 0, start
    while at < len(text):
        quoted = _GROUP.match(text, at) if text[at] in "\"'" else None
        depth += (text[at] in "{[") - (text[at] in "}]")
        at = quoted.end() if quoted else at + 1
        if depth == 0:
            break
    return at
