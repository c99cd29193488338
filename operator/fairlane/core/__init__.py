"""Decisions, pure: state in, plan out. No client, no clock, no environment."""
