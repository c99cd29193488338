"""The process that sends a quiet lane's synthetic load: `python -m fairlane load`."""
