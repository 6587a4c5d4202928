"""Run two agents through the same two tasks: one forgets, the other sleeps. A minute or two.

    python examples/02_one_life.py

Run twice, the script goes on where it was, or shows what is finished.
"""

import wakesleep as ws

TASKS = ["DistShift_R3", "CustomUnlock_S5"]
PPO = {"entropy_coef": 5e-3, "min_advantage_std": 0.05}  # the paper's PPO, exploring a little more
HIDDEN = {f"learner.{name}": value for name, value in PPO.items()}


def main(scale: float = 1.0) -> None:
    """Run both lives, compare them, and make a web page."""
    agents = {"baseline": PPO, "hidden": HIDDEN | {"sleep.iterations": int(8000 * scale)}}
    episodes = max(2, int(100 * scale))
    lives = [
        ws.run(agent, TASKS, preset="paper", seed=1, scale=0.9 * scale, episodes=episodes, overrides=overrides)
        for agent, overrides in agents.items()
    ]
    for life in lives:
        print(life.agent, life.returns.round(2), life.metrics(), sep="\n")
        life.plot().savefig(f"life-{life.agent}.png")
    print(ws.compare(lives))
    print("open", ws.report(lives, "report.html", title="Two lives"))


if __name__ == "__main__":
    main()
