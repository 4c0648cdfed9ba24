"""Contract suites for devices and policies, for us and for third parties."""
