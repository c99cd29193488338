"""The memory that real vLLM has after it loaded, beside what was computed before."""
