"""tfgen: Helm charts and kustomize overlays for distributed TensorFlow on Kubernetes.

tfgen builds one graph of Kubernetes objects from a validated ``job.yaml``. The chart, the overlays and the plain
objects are three equal outputs of this graph. See ARCHITECTURE.md for the map of the package.
"""

__version__ = "0.1.0"
