"""The command line, also `kubectl fairlane`."""
