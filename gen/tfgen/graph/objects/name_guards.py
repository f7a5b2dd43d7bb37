"""Guards of the chart that refuse names that are too long, for example the name of a StatefulSet or a host name."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.graph.holes import Bound, Default, Greater, Guard, Length, Node, Sum, Text
from tfgen.graph.objects import names
from tfgen.graph.objects.cluster_spec import PodName
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value
from tfgen.job.training_job import Role, RoleName


def stateful_set_guards(roles: Iterable[Role]) -> list[Guard]:
    """Return a list with the guard for the longest StatefulSet name; an empty list if no role has a StatefulSet."""
    return [_stateful_set_guard(role) for role in sorted((role.name for role in roles), key=len)[-1:]]


def role_hosts_guard(pod: PodName) -> Guard:
    """Return the guard that limits the length of host names. The last pod of a role has the longest host name."""
    last = Sum(Default(role_entry_value("replicas", "integer"), 1), -1)
    return host_name_guard(pod(ROLE_NAME, last)).replaced(over=(ROLE_ENTRIES,))


def finisher_name_guard() -> Guard:
    """Return the guard that limits the length of the finisher's name, which is a label value of the finisher's pods.

    A job with several tasks does not need this guard, because another guard limits the host names of the job, which are
    at least as long as the finisher's name.
    """
    words = ("the finisher's Job would be named ", ", which has ", "a label value")
    return _length_guard("finisher-name", Bound("finisher"), names.finisher(), names.LABEL_VALUE_MAX, words)


def host_name_guard(name: Node) -> Guard:
    """Return the guard that limits the length of a pod's name, which is also the host name of the pod."""
    words = ("the host name ", " has ", "a DNS label")
    return _length_guard("host-name", Bound("host"), name, names.HOST_NAME_MAX, words)


def _stateful_set_guard(role: RoleName) -> Guard:
    words = ("the StatefulSet's name ", " has ", "the name of a StatefulSet")
    name = names.workload(role)
    return _length_guard("statefulset-name", Bound("statefulSet"), name, names.STATEFUL_SET_NAME_MAX, words)


def _length_guard(rule: str, hole: Bound, name: Node, maximum: int, words: tuple[str, str, str]) -> Guard:
    """Return the guard that limits the length of a name that contains the name of the run.

    Args:
        rule: the id of the rule.
        hole: the hole that represents `name` in the test and in the message of the guard.
        name: the checked name, as a node of the object graph.
        maximum: the maximum number of bytes.
        words: three parts of the message. The parts are the words before the name, the words after the name, and the
            type of the name, such as `a DNS label`.
    """
    prefix, suffix, limited = words
    return Guard(
        rule=rule,
        path="run",
        let=((hole.name, name),),
        test=Greater(Length(hole), maximum),
        message=Text(
            (
                prefix,
                hole,
                suffix,
                Length(hole),
                f" characters, but {limited} may have at most {maximum}; "
                "shorten the name of the job, of the release or of the run",
            )
        ),
    )
