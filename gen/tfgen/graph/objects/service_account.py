"""The service account that a job makes for its pods, such as one that a cloud gives an identity.

The account belongs to the job and not to a run: a cloud binds its identity to the account's namespace and name.
https://kubernetes.io/docs/concepts/security/service-accounts/
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import AllOf, Default, Equal, Guard, Key, Node, Text, When, if_set
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import role_or_job_value, value
from tfgen.job.training_job import Structure
from tfgen.kubernetes import keys

_IS_CREATED: Final = value("serviceAccount.create")
_DEFAULT: Final = "default"
"""The account that Kubernetes makes in each namespace."""


@cache
def service_account() -> Node:
    """Return the account, if the job makes one. A pod must ask for the account's token, and the tasks' pods do not."""
    account: dict[Key, Node] = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": labels.metadata(Default(value("serviceAccountName"), names.JOB), annotations=keys.BEFORE_PODS),
        "automountServiceAccountToken": False,
    }
    return When(_IS_CREATED, labels.with_layers(account, (), (value("serviceAccount.annotations"),)))


def task_account(structure: Structure) -> When:
    """Return the name of a task's account: the role's or the job's, or else that of the account that the job makes."""
    name = role_or_job_value("serviceAccountName")
    return When(name, name, When(_IS_CREATED, names.JOB)) if structure.service_account else if_set(name)


def default_account_guard() -> Guard:
    """Return the guard against an account that each namespace has already."""
    return Guard(
        rule="service-account-default",
        path="serviceAccountName",
        test=AllOf((_IS_CREATED, Equal(value("serviceAccountName"), _DEFAULT))),
        message=Text(
            (
                f"serviceAccount.create would make the account {_DEFAULT}, which Kubernetes makes in each namespace; "
                "choose another name",
            )
        ),
    )
