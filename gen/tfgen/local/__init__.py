"""A job on this machine: its tasks as local processes, each told what its pod would be told.

    filled objects -> pods -> processes -> supervisor

Nothing here says anew what a task is told. The pods are those of the filled graph; what is changed in them is only
what this machine has otherwise: addresses, folders, GPUs.
"""
