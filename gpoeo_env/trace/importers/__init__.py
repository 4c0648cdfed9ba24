"""One module a dialect; each registers in the entry-point group ``gpoeo.importers``."""
