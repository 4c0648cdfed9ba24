"""The Gymnasium environment, and the control loop that it shares with the runner."""
