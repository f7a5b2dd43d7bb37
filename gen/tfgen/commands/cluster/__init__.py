"""Steps of the commands that read a cluster or write to a cluster."""
