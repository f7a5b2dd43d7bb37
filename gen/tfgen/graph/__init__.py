"""The object graph of a job, and the code that fills the graph with values.

The graph consists of Kubernetes objects with holes. A hole is a placeholder for a value that a user of the chart or an
environment may set.
"""
