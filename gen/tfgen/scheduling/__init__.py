"""Whether pods find room on nodes: the arithmetic of Kubernetes' scheduler, without the scheduler."""
