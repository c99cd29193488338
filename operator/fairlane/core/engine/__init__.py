"""How must this lane's vLLM run? Flags per version, profiles, the command line, the pod template."""
