"""The table of the rules for single fields of the objects of a job, and the search for fields that break a rule."""
