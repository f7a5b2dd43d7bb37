"""Rules of a platform team as ValidatingAdmissionPolicies, evaluated in the same way as by the API server."""
