"""The metrics by name: what tables call them."""

from typing import NamedTuple


class Metric(NamedTuple):
    """What a metric is called."""

    title: str
    latex: str
    about: str


METRICS: dict[str, Metric] = {
    "perf_maintenance_mrlep": Metric("PM", "PM", "performance maintenance, against the evaluation after learning"),
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
    "perf_maintenance_mrtlp": Metric("PM-L", "PM-L", "performance maintenance, against the end of learning"),
    "forward_transfer_contrast": Metric("FT-C", "FT-C", "forward transfer, contrast"),
    "backward_transfer_contrast": Metric("BT-C", "BT-C", "backward transfer, contrast"),
    "sample_efficiency": Metric("SE", "SE", "sample efficiency against the expert's"),
    "perf_recovery": Metric("PR", "PR", "performance recovery"),
    "avg_train_perf": Metric("train", "train", "mean performance in learning blocks"),
    "avg_eval_perf": Metric("eval", "eval", "mean performance in evaluation blocks"),
}
"""In the order of the paper's tables, then the rest. Names without `rr_` are l2metrics' own. Higher is better."""

PAPER = tuple(METRICS)[:8]
"""The columns of the paper's tables."""
