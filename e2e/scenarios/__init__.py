"""Fairlane against a real cluster: every scenario in a namespace of its own."""
