"""Computes whether pods fit on nodes by the rules of the Kubernetes scheduler, without a running scheduler."""
