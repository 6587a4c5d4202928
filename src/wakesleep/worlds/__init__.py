"""What the agent lives in: Minigrid, any Gymnasium environment, worlds of your own."""
