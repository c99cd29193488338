"""core/engine/data/flags.json from vLLM's published wheels: `make flags`."""
