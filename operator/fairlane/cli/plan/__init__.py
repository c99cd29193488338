"""`fairlane plan`: what a file would do, before anything is applied."""
