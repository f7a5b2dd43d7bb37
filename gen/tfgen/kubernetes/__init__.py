"""Facts of Kubernetes: amounts, keys, what tells two objects or list items apart."""
