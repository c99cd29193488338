"""Fairlane: lanes, bounded queues and self-rolling-back canaries for vLLM on Kubernetes."""
