"""The changes of jobs and objects as text, Markdown and data for JSON."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from tfgen.change.field_diff import NOTHING, FieldChange
from tfgen.change.job_diff import EnvironmentDiff, JobDiff, ObjectDiff
from tfgen.kubernetes.object import group, identity
from tfgen.kubernetes.pods import Totals, amount, counts_gpus
from tfgen.report.problems import as_text
from tfgen.words import count, for_terminal, shown

if TYPE_CHECKING:
    from tfgen.kubernetes.quantity import Amount


def rows(diff: JobDiff) -> dict[str, Any]:
    """Return the differences of a job as plain data for JSON.

    If a field is missing in the old or the new version, its row has no key `before` or `after`.
    """
    return {
        "job": diff.name,
        "file": diff.file,
        "needsNewRun": [
            {"file": p.file, "line": p.position.line, "column": p.position.column, "message": p.message, "rule": p.rule}
            for p in diff.needs_new_run
        ],
        "environments": [
            {
                "environment": environment.environment,
                "newRun": {"before": environment.runs[0], "after": environment.runs[1]} if environment.runs else None,
                "before": _totals_row(environment.before),
                "after": _totals_row(environment.after),
                "place": [field_row(change) for change in environment.place],
                "kept": list(environment.kept_claims),
                "objects": [_object_row(item) for item in environment.objects],
            }
            for environment in diff.environments
        ],
        "delivery": [{**_object_row(item), "file": item.file, "shared": item.is_shared} for item in diff.delivery],
    }


def _totals_row(totals: Totals | None) -> dict[str, Any] | None:
    """Return the requests of a job as plain numbers, CPU in cores and memory in bytes."""
    if totals is None:
        return None
    requests = {name: int(value) if value.denominator == 1 else float(value) for name, value in totals.requests.items()}
    return {"pods": totals.pods, "requests": requests}


def _object_row(item: ObjectDiff) -> dict[str, Any]:
    api_version, kind, name = identity(item.item)
    head = {"action": item.action, "apiVersion": api_version, "kind": kind, "name": name}
    if item.action == "changed":
        return {**head, "fields": [field_row(change) for change in item.fields]}
    return {**head, "object": dict(item.item)}


def field_row(change: FieldChange) -> dict[str, Any]:
    """Return a changed field as plain data for JSON, with the keys `path`, `before` and `after`.

    If the field is missing in the old or the new version, the row has no key `before` or `after`.
    """
    sides = {"before": change.before, "after": change.after}
    return {"path": str(change.path), **{side: value for side, value in sides.items() if value is not NOTHING}}


SIGNS: Final = {"added": "+", "changed": "~", "removed": "-"}

_ONE_LINE: Final = 90
"""Maximum total length of an old value and a new value that tfgen prints in one line."""
_LONGEST: Final = 100
"""Maximum length of a value in a separate line. tfgen shortens a longer value."""
_LEAD: Final = 20
"""Number of equal characters that are shown before the first difference of two long texts."""
_MOST_LINES: Final = 12
"""Maximum number of differing lines that are shown for a text with several lines."""

_COLOURS: Final = {"+": "32", "-": "31", "~": "33", "name": "1"}

Paint = Callable[[str, str], str]


def diff_text(diffs: Sequence[JobDiff], *, colour: bool = False) -> str:
    """Return the differences of jobs as text. Unchanged jobs are omitted."""
    paint = _painted if colour else _plain
    return "".join(f"{line}\n" for diff in diffs if diff for line in _job(diff, paint))


def ended_runs_text(diffs: Sequence[JobDiff]) -> str:
    """Return a text about the runs that end, for example after `tfgen rm`, in the format of `diff_text`.

    The text names the resource requests that end in each environment, the claims that tfgen keeps, and the GitOps
    objects of the job. The text omits all other objects. Commands end the runs that no GitOps tool ends.
    """
    lines: list[str] = []
    for diff in diffs:
        lines.append(f"{diff.name} ({for_terminal(diff.file)})")
        for environment in diff.environments:
            lines += _place_lines(environment, _plain)
        lines += ["  GitOps objects:"] if diff.delivery else []
        lines += (f"    {SIGNS[item.action]} {delivery_title(item)}" for item in diff.delivery)
        if deleting := [item for item in diff.delivery if _deletes(item)]:
            lines.append("  if no tool prunes the folder of these objects, the runs continue; to end the runs:")
            lines += (f"    {command}" for command in _delete_commands(deleting))
        if diff.is_removed_without_gitops:
            advice = "the job has no gitops, so a run continues until you delete the object that applies the run:"
            lines += (f"  {advice}", *(f"    {command}" for command in OWN_OBJECTS))
    return "".join(f"{line}\n" for line in lines)


OWN_OBJECTS: Final = (
    "kubectl delete application.argoproj.io NAME --namespace argocd  # needs a finalizer of Argo CD",
    "kubectl delete kustomization.kustomize.toolkit.fluxcd.io NAME --namespace flux-system  # needs prune: true",
    "helm uninstall NAME",
)
"""The commands that delete a run that a hand-written object, or a Helm release, applies."""


def _delete_commands(delivery: Sequence[ObjectDiff]) -> Iterator[str]:
    """Yield the commands that delete removed GitOps objects. A GitOps object deletes the objects that it applied."""
    names: dict[tuple[str, str], list[str]] = {}
    for item in delivery:
        kind, metadata = f"{item.item['kind'].lower()}.{group(item.item)}", item.item["metadata"]
        names.setdefault((kind, metadata["namespace"]), []).append(metadata["name"])
    for (kind, namespace), of_kind in names.items():
        yield f"kubectl delete {kind} {' '.join(of_kind)} --namespace {namespace}"


def title(environment: EnvironmentDiff) -> str:
    """Return the name of an environment, or "no environment" for a job without environments."""
    return environment.environment or "no environment"


def summary(before: Totals | None, after: Totals | None, arrow: str = "->") -> str:
    """Return the number of pods and the requests of a job, before and after the change.

    Example: `pods 8 -> 12, cpu 22, memory 44Gi -> 76Gi`. An unchanged amount appears once.
    """
    was, now = _amounts(before), _amounts(after)
    parts = []
    for name in {**was, **now}:
        old, new = was.get(name, "0"), now.get(name, "0")
        parts.append(f"{name} {old}" if old == new else f"{name} {old} {arrow} {new}")
    return ", ".join(parts)


def _amounts(totals: Totals | None) -> dict[str, str]:
    if totals is None:
        return {}
    order = ("cpu", "memory")
    names = [*(name for name in order if name in totals.requests), *sorted(totals.requests.keys() - {*order})]
    return {"pods": str(totals.pods), **{name: amount(name, totals.requests[name]) for name in names}}


def state(environment: EnvironmentDiff, arrow: str = "->") -> str:
    """Return a suffix of an environment's title, such as ` (new)` or ` (new run: 1 -> 2)`; empty for other changes."""
    if environment.before is None:
        return " (new)"
    if environment.after is None:
        return " (removed)"
    words = [
        "enabled again" if change.after is NOTHING else "retired"
        for change in environment.place
        if str(change.path) == "enabled"
    ]
    if environment.runs:
        was, now = (run or "without a name" for run in environment.runs)
        words.append(f"new run: {was} {arrow} {now}")
    return f" ({', '.join(words)})" if words else ""


def place_changes(environment: EnvironmentDiff) -> tuple[FieldChange, ...]:
    """Return the changes of an environment's namespace and cluster."""
    return tuple(change for change in environment.place if str(change.path) != "enabled")


def delivery_title(item: ObjectDiff) -> str:
    """Return the title and file of a GitOps object. Add a note about the objects that a removed object applied."""
    sharing = ", shared between jobs" if item.is_shared else ""
    effect = ""
    if item.action == "removed" and _deletes(item):
        effect = ": the tool deletes the applied objects except claims"
    elif item.action == "removed" and item.item["kind"] == "Kustomization":
        effect = ": the tool keeps the applied objects, because prune is false"
    return f"{for_terminal(f'{item.title} ({item.file}')}{sharing}){effect}"


def _deletes(item: ObjectDiff) -> bool:
    """Test whether the removal of a GitOps object makes the GitOps tool delete the objects that the tool applied."""
    match item.item["kind"]:
        case "Application":
            return bool(item.item["metadata"].get("finalizers"))
        case "Kustomization":
            return bool(item.item["spec"]["prune"])
        case kind:
            return not item.is_shared and kind in ("ApplicationSet", "HelmRelease")


def changes_alike(environment: EnvironmentDiff, peer: EnvironmentDiff) -> bool:
    """Test whether two environments change the same objects in the same way."""
    changes, peer_changes = (
        [(item.action, item.title, item.fields) for item in diff.objects] for diff in (environment, peer)
    )
    return bool(changes) and changes == peer_changes


def groups(items: Sequence[ObjectDiff]) -> list[tuple[list[ObjectDiff], tuple[FieldChange, ...]]]:
    """Group the objects whose fields change in the same way. Return each group with its changed fields.

    A new or removed object is a separate group.
    """
    grouped: list[tuple[list[ObjectDiff], tuple[FieldChange, ...]]] = []
    for item in items:
        group = next((group for group, fields in grouped if item.fields and fields == item.fields), None)
        if group is None:
            grouped.append(([item], item.fields))
        else:
            group.append(item)
    return grouped


def _job(diff: JobDiff, paint: Paint) -> Iterator[str]:
    yield f"{paint('name', diff.name)} ({for_terminal(diff.file)})"
    described: list[tuple[EnvironmentDiff, str]] = []
    for environment in diff.environments:
        if not environment:
            yield f"  {title(environment)}: no change"
            continue
        yield from _place_lines(environment, paint)
        like = next((name for previous, name in described if changes_alike(previous, environment)), None)
        if like:
            yield f"    the same objects change as in {like}"
            continue
        described.append((environment, title(environment)))
        for items, fields in groups(environment.objects):
            sign = SIGNS[items[0].action]
            yield f"    {paint(sign, f'{sign} ' + ', '.join(item.title for item in items))}"
            for change in fields:
                yield from (f"        {line}" for line in field_lines(change, paint))
    if diff.delivery:
        yield "  GitOps objects:"
    for item in diff.delivery:
        sign = SIGNS[item.action]
        yield f"    {paint(sign, f'{sign} {delivery_title(item)}')}"
        for change in item.fields:
            yield from (f"        {line}" for line in field_lines(change, paint))
    if diff.needs_new_run:
        yield "  needs a new run:"
        yield from (f"    {line}" for line in for_terminal(as_text(diff.needs_new_run)).splitlines())


def _place_lines(environment: EnvironmentDiff, paint: Paint) -> Iterator[str]:
    """Yield the lines about the requests, the namespace, the cluster and the kept claims of an environment."""
    resources = summary(environment.before, environment.after)
    yield f"  {paint('name', title(environment))}{state(environment)}: {resources}"
    for change in place_changes(environment):
        yield from (f"    {line}" for line in field_lines(change, paint))
    yield from (f"    {line}" for line in environment.kept_claims)


def _plain(style: str, text: str) -> str:
    del style
    return text


def _painted(style: str, text: str) -> str:
    return f"\033[{_COLOURS[style]}m{text}\033[0m"


def field_lines(change: FieldChange, paint: Paint = _plain) -> Iterator[str]:
    """Yield the lines of a changed field. If the values are long, the old and the new value have separate lines."""
    texts = _signed_texts(change.before, change.after)
    signs = "".join(sign for sign, _ in texts)
    path = for_terminal(str(change.path))
    if signs == "-+" and sum(len(text) for _, text in texts) <= _ONE_LINE:
        (_, was), (_, now) = texts
        yield f"{paint('~', '~')} {path}: {paint('-', was)} -> {paint('+', now)}"
    elif len(texts) == 1 and signs:
        yield paint(signs, f"{signs} {path}: {texts[0][1]}")
    else:
        yield f"{paint('~', '~')} {path}:"
        yield from (f"    {paint(sign, f'{sign} {text}')}" if sign else f"    {text}" for sign, text in texts)


def _signed_texts(before: Any, after: Any) -> list[tuple[str, str]]:
    """Return the texts that describe a changed value, each with the sign "-" or "+".

    Example: [("-", "4"), ("+", "8")]. A missing value has no text. For long values, the texts contain only the part
    that differs. Values with several lines have a text for each line that differs. A note, such as "... and 3 more
    lines", has the empty sign "".
    """
    if isinstance(before, str) and isinstance(after, str):
        if "\n" in before or "\n" in after:
            return _lines(before, after)
        if changes := _list_size_changes(before, after):
            return changes
        if max(len(before), len(after)) > _LONGEST:
            parts_at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
            skipped = max(parts_at - _LEAD, 0)
            lead = "..." if skipped else ""
            return [(sign, lead + shown(text[skipped:], _LONGEST)) for sign, text in (("-", before), ("+", after))]
    values = [("-", before), ("+", after)]
    return [(sign, shown(value, _LONGEST)) for sign, value in values if value is not NOTHING]


def _list_size_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return a text for each list whose length changes, such as "worker: 4 -> 8 items". The sign of each text is empty.

    `before` and `after` are the JSON texts of two objects with lists, such as the hosts in TF_CONFIG. The result is
    empty for other texts.
    """
    try:
        was, now = json.loads(before), json.loads(after)
    except ValueError:
        return []
    if not all(isinstance(lists, dict) and all(isinstance(v, list) for v in lists.values()) for lists in (was, now)):
        return []
    differ = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    sizes = [(name, len(was.get(name, ())), len(now.get(name, ()))) for name in differ]
    return [("", f"{name}: {old} -> {new} items") for name, old, new in sizes if old != new]


def _lines(before: str, after: str) -> list[tuple[str, str]]:
    compared = difflib.ndiff(before.splitlines(), after.splitlines())
    differ = ((line[0], shown(line[2:], _LONGEST)) for line in compared if line[0] in "+-")
    lines = list(islice(differ, _MOST_LINES))
    omitted = sum(1 for _ in differ)
    if not lines:
        lines = [("-", f"{before.count(chr(10))} line endings"), ("+", f"{after.count(chr(10))} line endings")]
    return [*lines, ("", f"... and {count(omitted, 'more line')}")] if omitted else lines


LONGEST: Final = 60_000
"""Maximum number of characters of the comment. GitHub accepts 65,536."""

_ARROW: Final = "→"
"""Arrow between an old and a new value. An escaped "->" would be visible in the source, such as an e-mail."""

_SHARE: Final = 0.5
"""Share of the maximum length that the tables may use. The lists of fields use the remaining characters."""


def diff_markdown(diffs: Sequence[JobDiff], longest: int = LONGEST) -> str:
    """Return the differences in at most `longest` characters. The last lines count omitted jobs and environments."""
    changed = [diff for diff in diffs if diff]
    if not changed:
        return "No object changes.\n"
    heads = [_head(diff) for diff in changed]
    text, left_out = _fitting(_opening(changed), heads, int(longest * _SHARE), "job")
    folded = [text for diff in changed for text in _folded_parts(diff)]
    text, fields_left_out = _fitting(text, folded, longest - len(left_out) - 100, "environment")
    return text + left_out + fields_left_out


def _fitting(text: str, parts: Sequence[str], longest: int, noun: str) -> tuple[str, str]:
    """Append as many of the texts `parts` to `text` as fit into `longest` characters.

    Return the longer text, and a note about the omitted parts, such as "… and 2 more jobs: `tfgen diff` shows all." The
    note is empty if all parts fit. `noun` is the noun of the note, such as "job".
    """
    for number, part in enumerate(parts):
        if len(text) + len(part) > longest:
            omitted = len(parts) - number
            return text, f"\n… and {count(omitted, 'more ' + noun)}: `tfgen diff` shows all.\n"
        text += part
    return text, ""


def _opening(diffs: Sequence[JobDiff]) -> str:
    """Return the first line, about changed GPUs, runs and objects, such as "+4 GPUs in queue research"."""
    parts = [*_gpu_changes(diffs), *_run_changes(diffs)]
    items = [item for diff in diffs for item in diff.delivery]
    items += (item for diff in diffs for environment in diff.environments for item in environment.objects)
    objects = _counts(items)
    sentences = [", ".join(parts), f"objects: {objects}" if objects else ""]
    line = "".join(f" {text[:1].upper()}{text[1:]}." for text in sentences if text).strip()
    return f"{line}\n\n" if line else ""


def _counts(items: Iterable[ObjectDiff]) -> str:
    """Return the number of objects with each action, such as "2 added, 1 changed"."""
    numbers: Counter[str] = Counter(item.action for item in items)
    return ", ".join(f"{numbers[action]} {action}" for action in SIGNS if numbers[action])


def _gpu_changes(diffs: Sequence[JobDiff]) -> Iterator[str]:
    """Yield a text for each queue whose number of requested GPUs changes."""
    gpus: dict[str, Amount] = {}
    for environment in (environment for diff in diffs for environment in diff.environments):
        for sign, queue, sums in zip((-1, 1), environment.queues, (environment.before, environment.after), strict=True):
            for resource, value in sums.requests.items() if sums else ():
                if counts_gpus(resource):
                    gpus[queue] = gpus.get(queue, 0) + sign * value
    for queue, value in gpus.items():
        if value:
            place = f" in queue {_code(queue)}" if queue else " without a queue" if len(gpus) > 1 else ""
            yield f"**{float(value):+g} {'GPU' if abs(value) == 1 else 'GPUs'}**{place}"


def _run_changes(diffs: Sequence[JobDiff]) -> Iterator[str]:
    """Yield the texts about runs, such as "2 of 3 jobs need a new run", "starts 1 new run" and "ends 1 run"."""
    environments = [environment for diff in diffs for environment in diff.environments]
    needing = sum(bool(diff.needs_new_run) for diff in diffs)
    if needing:
        verb = "needs" if needing == 1 else "need"
        yield f"{verb} a new run" if len(diffs) == 1 else f"{needing} of {len(diffs)} jobs {verb} a new run"
    starting = sum(environment.runs is not None for environment in environments)
    if starting:
        yield f"starts {count(starting, 'new run')}"
    ending = sum(environment.ends_run for environment in environments)
    if ending:
        yield f"ends {count(ending, 'run')}"


def _head(diff: JobDiff) -> str:
    text = f"### {_escaped(diff.name)}\n\n| Environment | Objects | Requests |\n|---|---|---|\n"
    places: list[str] = []
    for environment in diff.environments:
        objects = _counts(environment.objects) or "no change"
        name = title(environment) + state(environment, _ARROW)
        requests = summary(environment.before, environment.after, _ARROW)
        text += f"| {_escaped(name)} | {objects} | {_escaped(requests)} |\n"
        for change in place_changes(environment):
            change_text = f"{change.path} {change.before or 'none'} {_ARROW} {change.after or 'none'}"
            places.append(f"{title(environment)}: {change_text}")
        places += (f"{title(environment)}: {line}" for line in environment.kept_claims)
    text += "\n"
    sections = {
        "Place": [_escaped(line) for line in places],
        "GitOps objects": [_escaped(f"{item.action}: {delivery_title(item)}") for item in diff.delivery],
        "Needs a new run": [f"{_code(str(item.place))} {_escaped(item.message)}" for item in diff.needs_new_run],
    }
    for heading, lines in sections.items():
        items = "".join(f"- {line}\n" for line in lines)
        text += f"**{heading}**\n\n{items}\n" if lines else ""
    return text


def _folded_parts(diff: JobDiff) -> Iterator[str]:
    """Yield a part for each environment with changed objects. Environments with equal changes share a part."""
    shown: list[EnvironmentDiff] = []
    for environment in diff.environments:
        if environment.objects and not any(changes_alike(previous, environment) for previous in shown):
            shown.append(environment)
            peers = [peer for peer in diff.environments if peer is environment or changes_alike(environment, peer)]
            yield _folded(f"{diff.name}: {', '.join(map(title, peers))}", environment.objects)
    if changed := [item for item in diff.delivery if item.fields]:
        yield _folded(f"{diff.name}: GitOps objects", changed)


def _folded(name: str, objects: Sequence[ObjectDiff]) -> str:
    lines = []
    for items, fields in groups(objects):
        sign = SIGNS[items[0].action]
        lines.append(f"{'!' if sign == '~' else sign} {', '.join(item.title for item in items)}")
        for change in fields:
            lines += [_diff_line(line) for line in field_lines(change)]
    body = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
    return f"<details><summary>{_escaped(name)}</summary>\n\n{fence}diff\n{body}\n{fence}\n\n</details>\n\n"


def _diff_line(line: str) -> str:
    """Move the sign + or - of a line to the first column, so that GitHub colours the line in a `diff` block."""
    stripped = line.lstrip(" ")
    sign, indent = stripped[:1], len(line) - len(stripped)
    if sign in ("+", "-"):
        return f"{sign} {' ' * (indent + 2)}{stripped[2:]}"
    return f"  {' ' * indent}  {stripped.removeprefix('~ ')}"


def _escaped(text: str) -> str:
    """Escape all characters in a text that are markup in Markdown or HTML, and each `@`.

    GitHub and GitLab notify the person or team whose name follows an `@`, also an escaped `@`. A zero-width space after
    the `@` prevents the notification.
    """
    text = re.sub(r"([\\`*_{}\[\]<>|#~&!])", lambda match: f"&#{ord(match[1])};", text)
    return text.replace("@", "@&#8203;")


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}"
