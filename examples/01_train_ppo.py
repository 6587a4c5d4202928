"""Train PPO on one task, look at its learning curve, and act with the trained policy.

python examples/01_train_ppo.py
"""

import jax

import wakesleep as ws


def main(scale: float = 1.0) -> None:
    """Train, save the curve as a picture, and play the first steps of an episode."""
    expert = ws.train("ppo", "DoorKey_S5", steps=int(200_000 * scale), seed=0)
    print(f"mean return of {len(expert.returns)} episodes: {expert.mean_return:.3f} (the optimum is about 0.96)")
    expert.plot().savefig("ppo-DoorKey_S5.png")

    policy = ws.load_policy(expert.folder)
    world = ws.make("DoorKey_S5")
    state, timestep = world.reset(jax.random.key(0))
    for step in range(5):
        action = policy.act(timestep.observation, seed=step)
        state, timestep = world.step(state, action, jax.random.key(step))
        print(f"step {step}: action {action}, reward {timestep.reward:.2f}")


if __name__ == "__main__":
    main()
