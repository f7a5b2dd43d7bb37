"""Writer of job.yaml. Short mappings and lists are on one line, and comments explain the decisions of the import.

The writer uses ruamel.yaml, which supports comments and styles. The quotes are the same as those of `yaml_text`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfgen.data_path import Path, texts
from tfgen.errors import MissingPackageError
from tfgen.text.yaml_text import scalar

_WIDTH: Final = 100
"""Maximum length of a line with a list or a mapping in flow style, such as `{cpu: 4}`."""
_UNLIMITED_WIDTH: Final = 1 << 20
"""A line width so large that ruamel.yaml never breaks a scalar into several lines."""
_BLOCKS: Final = ("spec", "roles", "env", "storage", "podTemplate", "containers", "environments")
"""Keys whose mapping or list has one line for each entry, down to the nesting level `_DEEPEST_BLOCK`."""
_DEEPEST_BLOCK: Final = 6
_SECTIONS: Final = ("image", "roles", "env", "storage", "gang", "environments", "workload", "completion", "security")
"""Keys of spec that have an empty line above them."""


def job_text(data: Mapping[str, Any], head: Sequence[str], comments: Mapping[Path, str]) -> str:
    """Return the YAML text of a document.

    Args:
        data: the document.
        head: the lines of the comment at the top.
        comments: the comments above keys, by the path of the key. Example: {("spec", "strategy"): "a single task"}.

    Raises:
        MissingPackageError: ruamel.yaml is not installed.
    """
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.comments import CommentedMap, CommentedSeq
        from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString, SingleQuotedScalarString
    except ImportError as error:
        raise MissingPackageError(
            "ruamel.yaml, which writes YAML with comments, is not installed", "ruamel.yaml"
        ) from error

    def styled(value: Any, path: Path, indent: int) -> Any:
        if isinstance(value, Mapping):
            mapping = CommentedMap()
            for key, child in value.items():
                mapping[styled(key, (), 0)] = styled(child, (*path, key), indent + 2)
            if _is_flow(value, path, indent, comments):
                mapping.fa.set_flow_style()
            for key in value:
                lines = comments.get((*path, key))
                if lines and not mapping.fa.flow_style():
                    mapping.yaml_set_comment_before_after_key(key, before=lines, indent=indent)
            return mapping
        if isinstance(value, list):
            sequence = CommentedSeq([styled(child, (*path, i), indent + 2) for i, child in enumerate(value)])
            if _is_flow(value, path, indent, comments):
                sequence.fa.set_flow_style()
            return sequence
        if not isinstance(value, str):
            return value
        if "\n" in value and _is_literal(value):
            return LiteralScalarString(value)
        quoted = scalar(value)
        if quoted.startswith('"'):
            return DoubleQuotedScalarString(value)
        return SingleQuotedScalarString(value) if quoted.startswith("'") else value

    yaml = YAML()
    # By default, ruamel.yaml writes null as an empty value, which looks like a mistake.
    yaml.representer.add_representer(
        type(None), lambda base, _: base.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    yaml.width = _UNLIMITED_WIDTH
    yaml.indent(mapping=2, sequence=2, offset=0)
    document = styled(data, (), 0)
    _separate_sections(document["spec"], comments)
    stream = io.StringIO()
    yaml.dump(document, stream)
    text = "".join(f"{line.rstrip()}\n" for line in stream.getvalue().removesuffix("\n").split("\n"))
    return "".join(f"# {line}".rstrip() + "\n" for line in head) + text


def _separate_sections(spec: Any, comments: Mapping[Path, str]) -> None:
    """Insert an empty line before each section of a spec."""
    for position, key in enumerate(spec):
        if position and key in _SECTIONS:
            lines = comments.get(("spec", key))
            before = f"\n{lines}" if lines else "\n"
            spec.ca.items.pop(key, None)
            spec.yaml_set_comment_before_after_key(key, before=before, indent=2)


def _is_flow(value: Any, path: Path, indent: int, comments: Mapping[Path, str]) -> bool:
    """Return whether a collection is short enough for one line in flow style."""
    if not value:
        return True
    if len(path) <= 1 or (path[-1] in _BLOCKS and len(path) <= _DEEPEST_BLOCK):
        return False
    if any(commented[: len(path)] == path and len(commented) > len(path) for commented in comments):
        return False
    is_short = _depth(value) <= 2 and indent + len(str(path[-1])) + _length(value) <= _WIDTH
    return is_short and not any("\n" in text for _, text in texts(value)) and not _has_bare_pair(value)


def _has_bare_pair(value: Any) -> bool:
    """Return whether a value contains a list such as `[{name: hub}]`, for which ruamel.yaml writes `[name: hub]`."""
    if isinstance(value, list):
        return any(isinstance(item, Mapping) and len(item) == 1 for item in value)
    return isinstance(value, Mapping) and any(_has_bare_pair(item) for item in value.values())


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max((_depth(child) for child in children), default=0)


def _length(value: Any) -> int:
    if isinstance(value, Mapping):
        return 2 + sum(len(str(key)) + 4 + _length(child) for key, child in value.items())
    if isinstance(value, list):
        return 2 + sum(2 + _length(child) for child in value)
    return len(scalar(value))


def _is_literal(text: str) -> bool:
    return (
        not text[0].isspace() and not text.endswith("\n\n") and all(line == line.rstrip() for line in text.split("\n"))
    )
