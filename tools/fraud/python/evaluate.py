"""Trains trees and a logistic regression on one part of a matrix and reports how well they rank another part."""

import json

import numpy
from common import fit_trees, read_job, read_rows
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parent import end_with_parent

TREES, LEAVES, RATE, LEAST_ROWS = 400, 15, 0.04, 50
TRAIN, TEST = 1, 2


def report(scores, scenarios, false_positives):
    labels = (scenarios > 0).astype(int)
    normal = numpy.sort(scores[labels == 0])[::-1]
    # At most the given share of the normal payments has a score above this threshold.
    threshold = normal[int(len(normal) * false_positives)]
    found = scores > threshold
    kinds = [int(kind) for kind in numpy.unique(scenarios) if kind > 0]
    return {
        "recall": float(found[labels == 1].mean()),
        "auc": float(roc_auc_score(labels, scores)),
        "average_precision": float(average_precision_score(labels, scores)),
        "scenarios": [{"scenario": kind, "frauds": int((scenarios == kind).sum()), "recall": float(found[scenarios == kind].mean())} for kind in kinds],
    }


def main():
    job = read_job()
    rows = read_rows(job)
    parts = numpy.fromfile(job["parts"], dtype=numpy.uint8)
    scenarios = numpy.fromfile(job["scenarios"], dtype=numpy.uint8)
    train, test = parts == TRAIN, parts == TEST
    # Inputs that a file cannot fill, or that never vary, contain no information.
    used = [column for column in range(rows.shape[1]) if numpy.nanmin(rows[train, column], initial=numpy.inf) < numpy.nanmax(rows[train, column], initial=-numpy.inf)]
    learned, tested = rows[train][:, used], rows[test][:, used]
    labels = (scenarios[train] > 0).astype(int)
    trees = fit_trees(learned, labels, None, TREES, LEAVES, RATE, LEAST_ROWS)
    regression = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression(max_iter=300))
    regression.fit(learned, labels)
    results = {
        "inputs": len(used),
        "trees": report(trees.predict(tested), scenarios[test], job["false_positives"]),
        "regression": report(regression.predict_proba(tested)[:, 1], scenarios[test], job["false_positives"]),
    }
    with open(job["result"], "w") as file:
        json.dump(results, file)


end_with_parent()
main()
