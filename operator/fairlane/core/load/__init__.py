"""Synthetic load for quiet lanes: what the operator tells the sender, which lengths are drawn, when a request is due."""
