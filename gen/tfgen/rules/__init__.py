"""Rules that the JSON schema of a job cannot express, with one concern in each module.

A rule consists of a module, a line in `table` (or in `across`, if the rule compares several jobs), a case in
tests/invalid, and a section in docs/rules.md.
"""
