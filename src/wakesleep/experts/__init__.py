"""Single-task experts (STE): training, similarity of tasks, and episodes for offline reinforcement learning."""
