"""Evaluation of ValidatingAdmissionPolicies without a cluster, in the same way as in the API server."""
