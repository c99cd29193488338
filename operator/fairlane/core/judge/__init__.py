"""What do the numbers say? Evidence in, verdict out."""
