"""End to end: a real cluster on one machine, the scenarios that run on it, and the demo."""
