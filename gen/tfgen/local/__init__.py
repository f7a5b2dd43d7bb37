"""Runs a job on this machine. Each task is a local process or container with the settings of the task's pod.

    filled objects -> pods -> processes -> supervisor

tfgen takes the pods from the Kubernetes objects of the job, so the settings of a task are defined only once. This
package changes only the settings that differ on this machine: addresses, folders, GPUs.
"""
