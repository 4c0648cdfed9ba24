"""Progress measurement: from a window to work per second, and to a measurement."""
