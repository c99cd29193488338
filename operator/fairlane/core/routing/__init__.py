"""What must Envoy do? The route document, lane classes, bounds, splits, the rendered files."""
