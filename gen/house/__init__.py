"""The plan of the package: which room imports which, as a law that a test holds and as a picture.

A room is a folder of `gen/tfgen`. ARCHITECTURE.md lists the rooms, the highest first; each imports only what stands
below it. The modules in `gen/tfgen` itself are the ground: every room may import them.
"""
