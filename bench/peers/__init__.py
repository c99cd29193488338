"""Bad changes of real vLLM on the local cluster, judged by Fairlane and, by the same series, by the real Argo Rollouts and the real Flagger."""
