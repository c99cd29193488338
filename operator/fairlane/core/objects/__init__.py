"""Which Kubernetes objects follow? One builder per kind; each returns a plain object."""
