"""The Helm chart: the graph printed as Go template text."""
