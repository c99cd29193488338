"""The operator process: kopf wakes it, Kubernetes and Prometheus are read, plans are applied."""
