"""What a schema cannot say: one concern a module.

A rule is a line in `table`, or in `across` where it is of several jobs; a module beside; a case in tests/invalid; and a
section in docs/rules.md.
"""
