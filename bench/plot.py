#!/usr/bin/env python3
"""Draws bench/results/h200-speed.svg: how many times as fast an iteration is as with each baseline,
over the nonzeros of the system. Needs matplotlib."""

import matplotlib
import matplotlib.ticker

matplotlib.use("svg")
import matplotlib.pyplot as plt

from readme_tables import RESULTS, load

BASELINES = {
    "cusparse": ("cuSPARSE + cuBLAS, host loop", "o", "#b0413e"),
    "cusparse-graph": ("the same in a CUDA graph", "s", "#3d5a80"),
    "ginkgo-style": ("Ginkgo-style, test every iteration", "^", "#5f8d4e"),
}
ON_CHIP_BYTES = 132 * 227 * 1024  # shared memory of an H200 that a kernel may use
L2_BYTES = 50e6


def main():
    environment, runs = load()
    plt.rcParams.update({"svg.hashsalt": "resident", "font.size": 10})
    figure, axes = plt.subplots(figsize=(8, 4.2))
    for solver, (label, marker, colour) in BASELINES.items():
        points = []
        for of in runs.values():
            theirs = of.get(solver, {}).get("us_per_iteration")
            if theirs and "us_per_iteration" in of["resident"]:
                points.append((of[solver]["nonzeros"], theirs / of["resident"]["us_per_iteration"]))
        points.sort()
        axes.plot(*zip(*points), marker=marker, linestyle="none", color=colour, label=label)
    for bytes_, name in ((ON_CHIP_BYTES, "shared memory"), (L2_BYTES, "L2 cache")):
        axes.axvline(bytes_ / 12, color="#999999", linewidth=0.8, linestyle="--")
        axes.text(bytes_ / 12 * 1.05, 7, name, rotation=90, va="top", color="#666666", fontsize=8)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5x", "1x", "2x", "4x", "8x"])
    axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set_xlabel("nonzeros (dashed: where 12 bytes each fill a level)")
    axes.set_ylabel("speed of an iteration, Resident = y times")
    axes.set_title(f"{environment['gpu']}, double precision, defaults")
    axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(RESULTS.with_name("h200-speed.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
