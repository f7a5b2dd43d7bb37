"""The schemas that are derived from the job schema. Only a checkout writes them."""
