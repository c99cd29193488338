"""A small server that stands in for vLLM in the scenarios: same command line, same endpoints, same metrics, a model of the same scheduler."""
