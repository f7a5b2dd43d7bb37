"""Guard rails: what a tfgen.yaml enforces, allows and limits for the jobs and the tfgen.yaml files of its folder."""
