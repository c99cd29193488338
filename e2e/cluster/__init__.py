"""A real one-node Kubernetes cluster on a bare machine: `with Cluster.running() as cluster`."""
from .api import Cluster
from .errors import ClusterError

__all__ = ["Cluster", "ClusterError"]
