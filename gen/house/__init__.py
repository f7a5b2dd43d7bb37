"""The order of imports between the rooms of the package, as functions for a test and as a picture.

A room is a folder of `gen/tfgen`. ARCHITECTURE.md lists the rooms, the highest first. A room may import only lower
rooms. The modules in `gen/tfgen` itself are the ground, and every room may import the ground.
"""
