"""What a failed load of real vLLM looks like, and how soon Fairlane has read it."""
