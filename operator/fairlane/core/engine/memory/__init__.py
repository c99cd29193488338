"""Will this lane's vLLM load on its GPU? Weights, KV cache and overheads per GPU, computed beforehand: it fits, it does not, or nobody can say."""
