"""The metrics by name, and their titles, units and explanations in tables."""

from typing import NamedTuple

POINTS = "points"
"""Unit of performance: each task's range of returns is normalised to 1..101, so 100 points are the whole range."""
POINTS_NOTE = (
    "PM is in points: returns are normalised to 1..101, by default each task by its own range; below 0 is forgetting"
)
_ASCII = str.maketrans({"Ω": "Omega", "α": "alpha", "σ": "sigma", "υ": "upsilon"})


class Metric(NamedTuple):
    """How a metric is shown."""

    title: str
    latex: str
    about: str
    """One line of explanation."""
    unit: str = ""
    """`POINTS`, or empty for ratios and counts."""

    @property
    def short_name(self) -> str:
        """The title in ASCII: `RR_Omega`."""
        return self.title.translate(_ASCII)


METRICS: dict[str, Metric] = {
    "perf_maintenance_mrlep": Metric(
        "PM",
        "PM",
        "performance maintenance, against the evaluation after learning, in points: each task's range of returns is"
        " normalised to 1..101; below 0 is forgetting",
        POINTS,
    ),
    "forward_transfer_ratio": Metric("FT", "FT", "forward transfer, ratio"),
    "backward_transfer_ratio": Metric("BT", "BT", "backward transfer, ratio"),
    "ste_rel_perf": Metric("RP", "RP", "relative performance: learning curve against the expert's"),
    "rr_omega": Metric("RR_Ω", r"RR$_\Omega$", "relative reward of learned tasks at the end"),
    "rr_alpha": Metric("RR_α", r"RR$_\alpha$", "relative reward of the task just learned"),
    "rr_sigma": Metric("RR_σ", r"RR$_\sigma$", "relative reward of learned tasks"),
    "rr_upsilon": Metric("RR_υ", r"RR$_\upsilon$", "relative reward of tasks not learned yet"),
    "rr_upsilon_without_first": Metric("RR_υ'", r"RR$_{\upsilon'}$", "RR_υ without the evaluation before all learning"),
    "rr_omega_scaled": Metric("sRR_Ω", r"sRR$_\Omega$", "RR_Ω of returns scaled to each task's range"),
    "rr_alpha_scaled": Metric("sRR_α", r"sRR$_\alpha$", "RR_α of scaled returns"),
    "rr_sigma_scaled": Metric("sRR_σ", r"sRR$_\sigma$", "RR_σ of scaled returns"),
    "rr_upsilon_scaled": Metric("sRR_υ", r"sRR$_\upsilon$", "RR_υ of scaled returns"),
    "rr_upsilon_without_first_scaled": Metric("sRR_υ'", r"sRR$_{\upsilon'}$", "RR_υ' of scaled returns"),
    "perf_maintenance_mrtlp": Metric(
        "PM-L", "PM-L", "performance maintenance, against the end of learning, in points", POINTS
    ),
    "forward_transfer_contrast": Metric("FT-C", "FT-C", "forward transfer, contrast"),
    "backward_transfer_contrast": Metric("BT-C", "BT-C", "backward transfer, contrast"),
    "sample_efficiency": Metric("SE", "SE", "sample efficiency against the expert's"),
    "perf_recovery": Metric("PR", "PR", "performance recovery"),
    "avg_train_perf": Metric("train", "train", "mean performance in learning blocks, in points", POINTS),
    "avg_eval_perf": Metric("eval", "eval", "mean performance in evaluation blocks, in points", POINTS),
}
"""In the order of the paper's tables, then the rest. Names without `rr_` are l2metrics' own. Higher is better."""

PAPER = tuple(METRICS)[:8]
"""The columns of the paper's tables."""
