"""tfgen: Helm charts and kustomize overlays for distributed TensorFlow on Kubernetes.

One validated ``job.yaml`` becomes Kubernetes objects once; the chart, the overlays and the plain objects are
three equal outputs of that one graph. See ARCHITECTURE.md for the map of the package.
"""

__version__ = "0.1.0"
