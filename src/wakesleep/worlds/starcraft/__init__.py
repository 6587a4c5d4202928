"""StarCraft II: the three minigames of the paper in two variants each, on a simulator of our own or on the game."""
