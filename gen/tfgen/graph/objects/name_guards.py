"""Guards of the chart that refuse names that are too long, for example the name of a StatefulSet or a host name."""

from __future__ import annotations

from collections.abc import Iterable

from tfgen.graph.holes import Bound, Default, Greater, Guard, Length, Node, Sum, sentence
from tfgen.graph.objects import names
from tfgen.graph.objects.cluster_spec import PodName
from tfgen.graph.objects.values import ROLE_ENTRIES, ROLE_NAME, role_entry_value
from tfgen.job.training_job import Role


def stateful_set_guards(roles: Iterable[Role]) -> list[Guard]:
    """Return a list with the guard for the longest StatefulSet name; an empty list if no role has a StatefulSet."""
    problem = "the StatefulSet's name {} has {} characters, but the name of a StatefulSet may have at most"
    return [
        _length_guard(
            "statefulset-name", Bound("statefulSet"), names.workload(role), problem, names.STATEFUL_SET_NAME_MAX
        )
        for role in sorted((role.name for role in roles), key=len)[-1:]
    ]


def role_hosts_guard(pod: PodName) -> Guard:
    """Return the guard that limits the length of host names. The last pod of a role has the longest host name."""
    last = Sum(Default(role_entry_value("replicas", "integer"), 1), -1)
    return host_name_guard(pod(ROLE_NAME, last)).replaced(over=(ROLE_ENTRIES,))


def finisher_name_guard() -> Guard:
    """Return the guard that limits the length of the finisher's name, which is a label value of the finisher's pods.

    A job with several tasks does not need this guard, because another guard limits the host names of the job, which are
    at least as long as the finisher's name.
    """
    problem = "the finisher's Job would be named {}, which has {} characters, but a label value may have at most"
    return _length_guard("finisher-name", Bound("finisher"), names.finisher(), problem, names.LABEL_VALUE_MAX)


def host_name_guard(name: Node) -> Guard:
    """Return the guard that limits the length of a pod's name, which is also the host name of the pod."""
    problem = "the host name {} has {} characters, but a DNS label may have at most"
    return _length_guard("host-name", Bound("host"), name, problem, names.HOST_NAME_MAX)


def _length_guard(rule: str, hole: Bound, name: Node, problem: str, maximum: int) -> Guard:
    """Return the guard that limits the number of bytes of a name that contains the name of the run.

    `hole` stands for the name in the guard. `problem` is the message up to the maximum, with {} for the name and for
    its length.
    """
    return Guard(
        rule,
        at="run",
        let=((hole.name, name),),
        when=Greater(Length(hole), maximum),
        say=sentence(
            f"{problem} {maximum}; shorten the name of the job, of the release or of the run", hole, Length(hole)
        ),
    )
