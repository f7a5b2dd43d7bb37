"""Guards of the names that a workload kind builds, each of its own length."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.graph.holes import Bound, Default, Greater, Guard, Length, Node, Sum, Text
from tfgen.graph.objects import names
from tfgen.graph.objects.cluster_spec import PodName
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value
from tfgen.job.training_job import Role, RoleName


def short_stateful_sets(roles: Iterable[Role]) -> list[Guard]:
    """That the longest of the StatefulSets' names can make pods."""
    return [_short_stateful_set(role) for role in sorted((role.name for role in roles), key=len)[-1:]]


def short_hosts(pod: PodName) -> Guard:
    """That the last pod of each role has a name that a host, and the label that repeats it, may have."""
    last = Sum((Default(role_entry_value("replicas", "integer"), 1), -1))
    return short_host(pod(ROLE_NAME, last)).replaced(over=(ROLE_ENTRIES,))


def short_finisher() -> Guard:
    """That the finisher may name its pods by a label. Of a job that has workers, a host's name is never shorter."""
    words = ("the finisher's Job would be named ", ", which has ", "of its pods' label")
    return _short("finisher-name", Bound("finisher"), names.finisher(), names.LABEL_VALUE_MAX, words)


def short_host(name: Node) -> Guard:
    """That a pod's name may be its host's."""
    return _short("host-name", Bound("host"), name, names.HOST_NAME_MAX, ("the host name ", " has ", "of a DNS label"))


def _short_stateful_set(role: RoleName) -> Guard:
    words = ("the StatefulSet's name ", " has ", "with which it makes pods")
    return _short("statefulset-name", Bound("statefulSet"), names.workload(role), names.STATEFUL_SET_NAME_MAX, words)


def _short(rule: str, bound: Bound, name: Node, most: int, words: tuple[str, str, str]) -> Guard:
    """That a name of a run has at most `most` bytes; the words stand before it, after it, and after the number."""
    before, after, of = words
    return Guard(
        rule=rule,
        path="run",
        let=((bound.name, name),),
        test=Greater(Length(bound), most),
        message=Text(
            (
                before,
                bound,
                after,
                Length(bound),
                f" characters, more than the {most} {of}; shorten the job's, the release's or the run's name",
            )
        ),
    )
