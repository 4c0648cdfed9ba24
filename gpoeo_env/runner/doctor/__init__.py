"""What works on this machine, what does not, why, and what to do about it. Nothing here ever sets anything."""
