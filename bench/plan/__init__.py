"""How long `fairlane plan` takes."""
