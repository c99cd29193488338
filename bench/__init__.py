"""Measurements that are too long for the tests, and the figures in the documentation that come from them."""
