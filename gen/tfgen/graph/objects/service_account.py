"""The service account that a job creates for its pods, for example for an identity of a cloud.

The account belongs to the job, because a cloud binds an identity to the namespace and the name of the account.
https://kubernetes.io/docs/concepts/security/service-accounts/
"""

from __future__ import annotations

from functools import cache
from typing import Final

from tfgen.graph.holes import AllOf, Default, Equal, Guard, IsSet, Key, Node, Override, When, if_set
from tfgen.graph.objects import labels, names
from tfgen.graph.objects.values import role_or_job_value, value
from tfgen.job.training_job import Structure

_IS_CREATED: Final = value("serviceAccount.create")
_DEFAULT: Final = "default"
"""The account that Kubernetes creates in each namespace."""


@cache
def service_account() -> Node:
    """Return the ServiceAccount, if the job creates an account. The tasks do not mount the token of the account."""
    account: dict[Key, Node] = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": labels.metadata(Default(value("serviceAccountName"), names.JOB), annotations=labels.BEFORE_PODS),
        "automountServiceAccountToken": False,
    }
    return When(_IS_CREATED, labels.with_overriding_metadata(account, (), (value("serviceAccount.annotations"),)))


def task_account(structure: Structure) -> When:
    """Return the name of a task's service account: the account of the role or of the job, or the created account.

    If the role sets an empty name, the result is absent, and the task has the default account of the namespace.
    """
    name = role_or_job_value("serviceAccountName")
    if not structure.service_account or not isinstance(name, Override):
        return if_set(name)
    job_account = When(name.fallback, name.fallback, When(_IS_CREATED, names.JOB))
    return When(IsSet(name.first), if_set(name.first), job_account)


def default_account_guard() -> Guard:
    """Return the guard that rejects the creation of the account `default`, which each namespace already has."""
    return Guard(
        "service-account-default",
        at="serviceAccountName",
        when=AllOf((_IS_CREATED, Equal(value("serviceAccountName"), _DEFAULT))),
        say=f"serviceAccount.create would create the account {_DEFAULT}, which each namespace already has; "
        "choose another name",
    )
