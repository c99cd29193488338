"""The router agent: files for Envoy, acknowledgements, fail-safe, drain."""
