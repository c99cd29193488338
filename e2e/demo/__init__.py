"""The main job before the user's eyes: `python -m e2e.demo`."""
