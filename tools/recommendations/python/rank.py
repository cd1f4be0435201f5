"""Learns to rank from lists that were shown. Corrects for positions, because items at the top get more clicks anyway."""

import json
import sys

import lightgbm
import numpy

from parent import end_with_parent


def main(path):
    with open(path) as file:
        job = json.load(file)
    folder, columns = job["folder"], job["columns"]
    rows = numpy.fromfile(f"{folder}/features.f64", dtype="<f8").reshape(-1, len(columns))
    labels = numpy.fromfile(f"{folder}/labels.u8", dtype="u1")
    groups = numpy.fromfile(f"{folder}/groups.u32", dtype="<u4")
    if not numpy.isfinite(rows).all():
        raise SystemExit("the lists contain a value that is not a finite number")
    data = lightgbm.Dataset(rows, labels, group=groups, feature_name=columns)
    if job["positions"]:
        data.set_position(numpy.fromfile(f"{folder}/positions.u32", dtype="<u4").astype("i4"))
    parameters = {
        "objective": "lambdarank",
        "num_leaves": job["leaves"],
        "learning_rate": job["rate"],
        "min_data_in_leaf": job["least_rows"],
        "lambdarank_truncation_level": job["truncation"],
        "feature_fraction": 0.7,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "lambda_l2": 5.0,
        "num_threads": job["threads"],
        "seed": job["seed"],
        "deterministic": True,
        "verbosity": -1,
    }
    booster = lightgbm.train(parameters, data, job["trees"])
    booster.save_model(f"{folder}/trees.txt", num_iteration=job["trees"], importance_type="gain")
    gains = booster.feature_importance("gain")
    with open(f"{folder}/ranked.json", "w") as file:
        json.dump({"gains": dict(zip(columns, (float(gain) for gain in gains)))}, file)


end_with_parent()
main(sys.argv[1])
