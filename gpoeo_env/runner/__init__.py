"""Running a policy on a device: the one loop, and those who watch it."""
