"""Runs a job on this machine. Each task is a local process or container with the settings of the task's pod.

tfgen takes the settings of a task from the Kubernetes objects of the job, so the settings are defined only once. This
package changes only the settings that differ on this machine: addresses, folders, GPUs.
"""
