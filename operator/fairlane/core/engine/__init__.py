"""How must this lane's vLLM run? Flags per version, profiles, command line, pod template."""
