"""Controllers that need no reinforcement learning."""
