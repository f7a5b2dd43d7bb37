"""A guard rail, the question whether a tfgen.yaml loosens the guard rail, and the severities of rules as guard rails.

tfgen asks the question about two pairs of settings: the settings of parent folders and of a tfgen.yaml, and the
settings before and after a change. In the first pair, a missing setting loosens nothing, because the tfgen.yaml
inherits the setting of the parent folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from tfgen import data_path, fix
from tfgen.data_path import Path
from tfgen.errors import Place, Problem, Severity
from tfgen.record import EMPTY, Record
from tfgen.text.document import Document
from tfgen.words import path_name

GUARD_RAIL: Final = "guard-rail"
LOOSENED: Final = "guard-rail-loosened"


class Setting(Record):
    """A value that a tfgen.yaml sets for a guard rail.

    Attributes:
        layer: the tfgen.yaml, without the values of parent folders.
        path: the path of the value in the tfgen.yaml.
    """

    layer: Document
    path: Path
    value: Any

    @property
    def place(self) -> Place:
        """Return the line of the value."""
        return self.layer.place(self.path)


class LooserSetting(Record):
    """Two settings of a guard rail, of which the second is looser than the first.

    Attributes:
        path: the path of the guard rail in a tfgen.yaml, such as ("limits", "job", "gpus").
        old: the value of the parent folder, or the value before the change. The default value if no file sets a value.
        new: the value of the tfgen.yaml, or the value after the change; None if no file sets a value.
        base: the line of `old`, as words for a message. For a default value, the revision of the base.
        part: the path of the looser part in `new`, such as (2,) for an item of a list.
        is_change: True if `new` is the value after a change.
        is_default: True if no file sets `old`.
    """

    path: Path
    old: Any
    new: Any
    base: str
    part: Path
    is_change: bool
    is_default: bool = False


class Rail(Record):
    """A guard rail, such as all limits.

    Attributes:
        read: returns the path and the value of each setting in a tfgen.yaml without the values of parent folders.
        looser: yields the path of each part of the second value that is looser than the first value. The path is empty
            if the whole value is looser. The second value is None if no file sets the value.
        words: returns the message of a comparison.
        removed: the name of what a subfolder removes to keep the rail, such as `the key`; empty if a removal is no fix.
        default: returns the value of a path without a setting; None if jobs are not restricted without a setting.
        is_of_file: True if the setting applies only to the folder of the tfgen.yaml, so that no subfolder inherits it.
    """

    read: Callable[[Document], Iterable[tuple[Path, Any]]]
    looser: Callable[[Any, Any], Iterable[Path]]
    words: Callable[[LooserSetting], str]
    removed: str = ""
    default: Callable[[Path], Any] = lambda _: None
    is_of_file: bool = False

    def settings(self, nearest_layer: Document | None) -> Mapping[Path, Setting]:
        """Return the strictest setting for each path, from a tfgen.yaml and the tfgen.yaml files of parent folders."""
        found: dict[Path, Setting] = {}
        for layer in reversed([*all_layers(nearest_layer)]):
            for path, value in self.read(layer):
                key = (layer.file, *path) if self.is_of_file else path
                if key not in found or not any(self.looser(found[key].value, value)):
                    found[key] = Setting(layer, path, value)
        return found


class Loosening(Record):
    """A change that makes a guard rail looser, such as a higher limit or a new pattern under `unlistedFiles`.

    Attributes:
        rail: the line of the guard rail in the base of comparison. If the base has no such line, `rail` equals `place`.
        place: the line of the change that loosens the guard rail.
    """

    rail: Place
    place: Place
    message: str


class Layers(Record):
    """The tfgen.yaml files of a folder and its parent folders, in the base of comparison and in the change.

    Attributes:
        before: the nearest tfgen.yaml of the base, merged over the files of the parent folders; None without a file.
        after: the nearest tfgen.yaml of the change, merged over the files of the parent folders; None without a file.
        revision: the revision of the base, such as `origin/main`.
    """

    before: Document | None
    after: Document | None
    revision: str

    def in_base(self, rail: Place) -> str:
        """Return text such as `tfgen.yaml:3:1 of origin/main`, for the line of a guard rail in the base."""
        return f"{rail} of {self.revision}"

    def loosening(self, rail: Place, path: Path, message: str) -> Loosening:
        """Return the loosening of a guard rail that the change no longer contains.

        Args:
            rail: the line of the guard rail in the base.
            path: the path of the guard rail. tfgen reports the line of the path, or of the nearest parent key in the
                tfgen.yaml.
            message: the text of the problem.
        """
        roots = []
        for layer in all_layers(self.after):
            if layer.file == rail.file:
                return Loosening(rail, layer.place(path), message)
            if layer.data.get("root"):
                roots.append(layer)
        if roots:
            root = roots[-1].place(("root",))
            whole_message = f"root: true in {root.file} disables the guard rails of {rail.file}: {message}; remove root"
            return Loosening(rail, root, whole_message)
        return Loosening(rail, rail, f"the change removes {rail.file}: {message}")


def values_of(*paths: Path) -> Callable[[Document], Iterable[tuple[Path, Any]]]:
    """Return the function that returns the path and the value of each of `paths` that a tfgen.yaml sets."""
    return lambda layer: ((path, data_path.at(layer.data, path)) for path in paths if data_path.has(layer.data, path))


def find_looser_than_parents(rails: Iterable[Rail], defaults: Document) -> Iterator[Problem]:
    """Yield a problem for each setting of a tfgen.yaml that is looser than the setting of a parent folder."""
    for rail in rails:
        own = rail.settings(defaults.alone())
        for path, old in rail.settings(defaults.under).items():
            new = own.get(path)
            if new is None or old.value is None:
                continue
            for part in rail.looser(old.value, new.value):
                comparison = LooserSetting(new.path, old.value, new.value, str(old.place), part, is_change=False)
                path, message = (*new.path, *part), rail.words(comparison)
                advice = fix.hint(fix.removal(path, rail.removed)) if rail.removed else fix.NO_HINT
                text = f"{message}{advice.text}"
                yield Problem(*new.layer.place(path), text, GUARD_RAIL, fixes=advice.fixes)


def find_looser_than_before(rails: Iterable[Rail], layers: Layers) -> Iterator[Loosening]:
    """Yield a loosening for each setting that is looser in the change than in the base of comparison."""
    for rail in rails:
        before, after = rail.settings(layers.before), rail.settings(layers.after)
        for key in dict.fromkeys((*before, *after)):
            old, new = before.get(key), after.get(key)
            path = (old or new or before[key]).path
            default = rail.default(path)
            old_value, new_value = old.value if old else default, new.value if new else None
            for part in rail.looser(old_value, new.value if new else default) if old_value is not None else ():
                base = layers.in_base(old.place) if old and not rail.is_of_file else layers.revision
                message = rail.words(
                    LooserSetting(path, old_value, new_value, base, part, is_change=True, is_default=not old)
                )
                if old and not rail.is_of_file:
                    yield layers.loosening(old.place, (*path, *part), message)
                elif new:
                    place = new.layer.place((*path, *part))
                    yield Loosening(place, place, message)


def all_layers(nearest_layer: Document | None) -> Iterator[Document]:
    """Yield a tfgen.yaml and the tfgen.yaml files of its parent folders, the nearest first, each with its own data."""
    return iter(()) if nearest_layer is None else nearest_layer.layers()


# -- severities ------------------------------------------------------------------------------------------------------
#
# Severities of problems that tfgen.yaml files set: `rules` and `warningsAsErrors`.
#
#     tfgen.yaml      rules: {latest-tag: {severity: error}}
#
# A problem that is an error by default remains an error, because a cluster would refuse the job, or the chart would
# give different objects than the overlays. Only the error of a soft rule has another severity if a tfgen.yaml sets one.


_ORDER: Final = ("off", "warning", "error")
"""The severities that `rules` of a tfgen.yaml may set, the weakest first."""


class RuleSetting(Record):
    """The severity of a rule, and the line of the tfgen.yaml that sets the severity.

    Attributes:
        not_ignorable: the line of `ignorable: false` for the rule in a tfgen.yaml, or None without such a line.
    """

    severity: str
    place: Place
    not_ignorable: Place | None = None


class Severities(Record):
    """The severities that all tfgen.yaml files of a job set together.

    Attributes:
        rules: the setting of each rule, by the id of the rule.
        as_errors: the line of the tfgen.yaml that turns all warnings into errors, or None.
    """

    rules: Mapping[str, RuleSetting] = EMPTY
    as_errors: Place | None = None

    def applied(self, problem: Problem) -> Problem | None:
        """Return a problem with the severity of its rule; None for a rule that is off."""
        if not problem.is_ignorable:
            return problem
        setting = self.rules.get(problem.rule)
        severity = setting.severity if setting else problem.severity
        if severity == "off":
            return None
        if severity == "warning" and self.as_errors:
            severity, why = "error", f"{self.as_errors} turns warnings into errors"
        elif setting and severity == "error" and setting.not_ignorable:
            why = f"{setting.place} makes this an error, and comments cannot ignore it"
        elif setting and severity != problem.severity:
            why = f"{setting.place} makes this {'an error' if severity == 'error' else 'a warning'}"
        else:
            return problem
        return problem.replaced(severity=severity, message=f"{problem.message} ({why})")


def severities_of(nearest_layer: Document | None) -> Severities:
    """Return the severities that a tfgen.yaml and the tfgen.yaml files of its parent folders set."""
    rules: dict[str, RuleSetting] = {}
    as_errors = None
    for layer in reversed([*all_layers(nearest_layer)]):
        for name, setting in layer.data.get("rules", EMPTY).items():
            place = layer.place(("rules", name, "severity"))
            not_ignorable = rules[name].not_ignorable if name in rules else None
            if setting.get("ignorable") is False and not_ignorable is None:
                not_ignorable = layer.place(("rules", name, "ignorable"))
            rules[name] = RuleSetting(setting["severity"], place, not_ignorable)
        if layer.data.get("warningsAsErrors"):
            as_errors = layer.place(("warningsAsErrors",))
    return Severities(rules, as_errors)


def _read_rules(layer: Document, key: str) -> Iterator[tuple[Path, Any]]:
    rules = layer.data.get("rules", EMPTY).items()
    return ((("rules", name, key), rule[key]) for name, rule in rules if key in rule)


def _severity_by_default(path: Path) -> Severity:
    from tfgen.rules.table import RULES  # takes 60 ms, which all commands save that compare no tfgen.yaml

    return next((rule.severity for rule in RULES if rule.id == path[1]), "warning")


def _severity_words(comparison: LooserSetting) -> str:
    name, new, old = path_name(comparison.path), comparison.new, comparison.old
    if not comparison.is_change:
        return (
            f"{path_name(comparison.path[:2])}: found {new}, but {comparison.base} sets {old}; a tfgen.yaml in a "
            "subfolder may only raise the severity"
        )
    set_by = f"{comparison.base} reports the {old}s" if comparison.is_default else f"{comparison.base} sets {old}"
    return f"{name}: found {new or 'no entry'}, but {set_by}"


def _ignorable_words(comparison: LooserSetting) -> str:
    if not comparison.is_change:
        return f"{path_name(comparison.path)}: found true, but {comparison.base} sets false"
    return f"a comment in a job may now ignore {comparison.path[1]}, which {comparison.base} forbids"


def _as_errors_words(comparison: LooserSetting) -> str:
    if not comparison.is_change:
        return f"warningsAsErrors: found false, but {comparison.base} sets true"
    return f"warnings are no longer errors, but {comparison.base} makes them errors"


SEVERITY_RAILS: Final = (
    Rail(
        read=values_of(("warningsAsErrors",)),
        looser=lambda old, new: [()] if old and not new else [],
        words=_as_errors_words,
        removed="the key",
    ),
    Rail(
        read=partial(_read_rules, key="severity"),
        looser=lambda old, new: [()] if _ORDER.index(new) < _ORDER.index(old) else [],
        words=_severity_words,
        default=_severity_by_default,
    ),
    Rail(
        read=partial(_read_rules, key="ignorable"),
        looser=lambda old, new: [()] if old is False and new is not False else [],
        words=_ignorable_words,
        removed="ignorable",
    ),
)
