"""A job on this machine. Its tasks are local processes with the same settings as their pods.

    filled objects -> pods -> processes -> supervisor

The pods come from the filled object graph, so the settings of a task are defined only once. This package changes only
the settings that differ on this machine: addresses, folders, GPUs.
"""
