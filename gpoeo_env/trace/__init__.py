"""Recordings: the native sweep file, and importers from other tables."""
