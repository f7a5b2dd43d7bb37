"""kube-batch: https://github.com/kubernetes-retired/kube-batch, the scheduler that Volcano grew out of.

Its PodGroup is served as ``scheduling.incubator.k8s.io/v1alpha1`` (deployment/kube-batch/templates of its repository).
"""

from __future__ import annotations

from typing import Final

from tfgen.schedulers.gang import Gang

GANG: Final = Gang(api_version="scheduling.incubator.k8s.io/v1alpha1", scheduler_name="kube-batch")
