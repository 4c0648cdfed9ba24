"""Commands that look into a recording: its period, its progress, its shifts; each can draw what it saw."""
