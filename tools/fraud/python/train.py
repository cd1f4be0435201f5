"""Trains the models of the job, writes them as ONNX, and reports vectors whose scores every runtime must reproduce."""

import json

import numpy
import onnxruntime
from common import fit_trees, read_job, read_rows
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.metrics import average_precision_score, roc_auc_score

from parent import end_with_parent

OPSET = 15
GOLDEN_VECTORS = 12
TREES, LEAVES, RATE, LEAST_ROWS = 80, 15, 0.1, 40
# Maximum mean difference between the scores of the trained and the converted model. The converted model rounds
# thresholds to float32, which may move a few rows to the other side of a split.
LARGEST_MEAN_DIFFERENCE = 1e-4


def score(path, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(["probabilities"], {"inputs": rows})[0][:, -1]


def convert(booster, columns, path):
    model = convert_lightgbm(booster, initial_types=[("inputs", FloatTensorType([None, columns]))], target_opset=OPSET, zipmap=False)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def main():
    job = read_job()
    rows = read_rows(job)
    weights = numpy.fromfile(job["weights"], dtype=numpy.float32)
    results = []
    for model in job["models"]:
        labels = numpy.fromfile(model["labels"], dtype=numpy.uint8)
        used = labels < 2
        own = numpy.ascontiguousarray(rows[used][:, model["columns"]])
        truth = labels[used]
        booster = fit_trees(own, truth, weights[used], TREES, LEAVES, RATE, LEAST_ROWS)
        convert(booster, own.shape[1], model["onnx"])
        scores = score(model["onnx"], own)
        difference = float(numpy.abs(scores - booster.predict(own)).mean())
        if difference > LARGEST_MEAN_DIFFERENCE:
            raise SystemExit(f"the ONNX file of {model['name']} differs from the trained model by {difference} on average")
        order = numpy.argsort(scores, kind="stable")
        picked = order[numpy.linspace(0, len(order) - 1, GOLDEN_VECTORS).astype(int)]
        # Most rows are normal, so evenly spaced rows alone would have nearly equal scores.
        frauds = order[truth[order] == 1]
        picked = numpy.concatenate([picked[: GOLDEN_VECTORS // 2], frauds[numpy.linspace(0, len(frauds) - 1, GOLDEN_VECTORS // 2).astype(int)]])
        vectors = numpy.ascontiguousarray(own[picked])
        typical = numpy.nanmedian(own[truth == 0], axis=0)
        mostly_missing = numpy.isnan(own[truth == 0]).mean(axis=0) > 0.5
        typical[mostly_missing] = numpy.nan
        results.append({
            "name": model["name"],
            "auc": float(roc_auc_score(truth, scores)),
            "average_precision": float(average_precision_score(truth, scores)),
            "difference": difference,
            "vectors": nulls(vectors),
            "scores": [float(value) for value in score(model["onnx"], vectors)],
            "typical": nulls(typical[None])[0],
        })
    with open(job["result"], "w") as file:
        json.dump(results, file)


def nulls(vectors):
    """Replaces NaN with None, because JSON has no NaN."""
    return [[None if numpy.isnan(value) else float(value) for value in vector] for vector in vectors]


end_with_parent()
main()
