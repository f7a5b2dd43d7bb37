"""Placement of pods on nodes: the arithmetic of the Kubernetes scheduler, without the scheduler."""
