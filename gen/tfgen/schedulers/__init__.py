"""The gang schedulers: one module each, and the table of them.

A scheduler is what it puts into the graph: the object that is the gang, and what binds a pod to it.
"""

from __future__ import annotations

from tfgen.job import Scheduler
from tfgen.schedulers import kube_batch, volcano
from tfgen.schedulers.gang import Gang

GANGS: dict[Scheduler, Gang] = {"volcano": volcano.GANG, "kube-batch": kube_batch.GANG}
