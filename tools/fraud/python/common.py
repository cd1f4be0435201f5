"""What training and evaluation share: the matrix that the TypeScript side has written, and gradient-boosted trees."""

import json
import sys

import lightgbm
import numpy

SEED = 1
THREADS = 2


def read_job():
    with open(sys.argv[1]) as file:
        return json.load(file)


def read_rows(job):
    """Returns rows of float32; missing values are NaN."""
    return numpy.fromfile(job["rows"], dtype=numpy.float32).reshape(-1, job["width"])


def fit_trees(rows, labels, weights, trees, leaves, rate, least_rows):
    parameters = {
        "objective": "binary",
        "num_leaves": leaves,
        "learning_rate": rate,
        "min_data_in_leaf": least_rows,
        "lambda_l2": 5.0,
        "feature_fraction": 0.7,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "num_threads": THREADS,
        "seed": SEED,
        "deterministic": True,
        "force_row_wise": True,
        "verbose": -1,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(rows, labels, weight=weights), trees)
