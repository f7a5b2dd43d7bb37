"""A platform's own rules as ValidatingAdmissionPolicies, Kubernetes' own form, judged as the API server does."""
