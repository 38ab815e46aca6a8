#!/usr/bin/env python3
"""Writes the tables of README.md from the recorded results; with --check only says whether they are
up to date. A table stands between <!-- results:NAME --> and <!-- results:end -->."""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "h200-cg.jsonl"
CPU_RESULTS = ROOT / "bench" / "results" / "xeon-2-threads-cpu.json"
POLICIES = ["none", "search", "vectors", "matrix"]
SPEED_SYSTEMS = [
    "poisson2d:32:32", "trefethen:2000", "poisson2d:100:100", "bcsstk17", "G2_circuit",
    "poisson2d:400:400", "poisson3d:64:64:64", "box27:40:40:40", "graph:200000:16:1",
    "poisson2d:1000:1000", "box27:64:64:64", "elasticity3d:40:40:40", "poisson3d:128:128:128",
    "poisson3d:200:200:200",
]
POLICY_SYSTEMS = [
    "trefethen:2000", "poisson2d:100:100", "poisson2d:1000:1000", "poisson3d:128:128:128",
    "box27:64:64:64", "elasticity3d:40:40:40", "graph:200000:16:1",
]


def load():
    environment, runs = {}, {}
    for line in RESULTS.read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "environment":
            environment = record
        else:
            runs.setdefault(record["system"], {})[record["solver"]] = record
    return environment, runs


def number(record, key="us_per_iteration"):
    if record is None or key not in record:
        return "-"
    value = record[key]
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def speed(environment, runs):
    solvers = ["resident", "resident-single-reduction", "cusparse", "cusparse-graph",
               "ginkgo-style", "ginkgo-style-10"]
    rows = []
    for system in SPEED_SYSTEMS:
        of = runs[system]
        size = of["resident"]
        rows.append([f"`{system}`", f"{size['rows']:,}", f"{size['nonzeros']:,}"]
                    + [number(of.get(solver)) for solver in solvers])
    text = table(["system", "rows", "nonzeros"] + solvers, rows)
    return text + (f"\n\n{environment['gpu']}, commit {environment['commit']}, "
                   f"{environment['date']}; medians of "
                   f"{runs['poisson2d:100:100']['resident']['repetitions']} runs for the small "
                   "systems, of at least 3 for the large ones.")


def policies(_, runs):
    rows = []
    for system in POLICY_SYSTEMS:
        of = runs[system]
        rows.append([f"`{system}`"]
                    + [number(of.get(f"resident-cache-{policy}")) for policy in POLICIES]
                    + [number(of.get("resident"))])
    return table(["kept on chip"] + [f"`{policy}`" for policy in POLICIES] + ["`all`"], rows)


def cpu(*_):
    results = json.loads(CPU_RESULTS.read_text())
    reads, solves = [], []
    for run in results["benchmarks"]:
        name = run["run_name"].split("/")
        if name[0].startswith("read_"):
            speed = run["file_MB"] / run["real_time"] * 1e3
            reads.append([name[0][5:].replace("_", " "), f"{speed:.0f} MB/s"])
        else:
            ours = run["real_time"]
            solves.append([f"CG iteration, {name[1].replace('_', ' ', 1)}", f"{ours:.2f} ms, "
                           f"Eigen {run['eigen_ms']:.1f} ms: {run['speedup']:.1f} times"])
    context = results["context"]
    rows = [[f"reading a 100 MB file, {name}", value] for name, value in reads] + solves
    return (table([f"{context['processor']}, commit {context['commit']}", "median"], rows))


def main():
    readme = ROOT / "README.md"
    old = readme.read_text()
    environment, runs = load()
    new = old
    for name, make in (("speed", speed), ("policies", policies), ("cpu", cpu)):
        pattern = rf"(<!-- results:{name} -->\n).*?(<!-- results:end -->)"
        text = make(environment, runs)
        new, count = re.subn(pattern, lambda m: m[1] + text + "\n" + m[2], new, flags=re.S)
        if count != 1:
            sys.exit(f"README.md: {count} tables named {name}, expected 1")
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.exit("README.md: tables differ from bench/results; run bench/readme_tables.py")
        return
    readme.write_text(new)


if __name__ == "__main__":
    main()
