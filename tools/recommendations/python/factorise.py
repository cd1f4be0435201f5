"""Factorises interactions, and computes vectors for the tokens of items, so that new items have vectors, too."""

import json
import sys

import numpy
import scipy.linalg
import scipy.sparse
from implicit.cpu.als import AlternatingLeastSquares

from parent import end_with_parent

# This strong regularisation keeps the vectors of rare tokens near zero.
TOKEN_REGULARIZATION = 5.0
# Number of rows that are converted to doubles at a time. As doubles, these rows take 128 MB.
ROWS_AT_ONCE = 65_536


def token_factors(tokens, factors, known):
    """Computes token vectors by ridge regression. The vectors of an item's tokens add up to about its factors."""
    rows = tokens[known]
    gram = (rows.T @ rows).toarray()
    gram[numpy.diag_indices_from(gram)] += TOKEN_REGULARIZATION
    target = rows.T @ factors[known]
    return scipy.linalg.solve(gram, target, assume_a="pos", overwrite_a=True, overwrite_b=True, check_finite=False)


def gram_of(factors):
    gram = numpy.zeros((factors.shape[1], factors.shape[1]))
    for start in range(0, len(factors), ROWS_AT_ONCE):
        rows = factors[start : start + ROWS_AT_ONCE].astype("f8")
        gram += rows.T @ rows
    return gram


def main(path):
    with open(path) as file:
        job = json.load(file)
    folder, items, dimensions = job["folder"], job["items"], job["dimensions"]
    read = lambda name, kind: numpy.fromfile(f"{folder}/{name}", dtype=kind)
    users, rows = read("users.u32", "<u4"), read("rows.u32", "<u4")
    confidences = read("confidences.f32", "<f4")
    matrix = scipy.sparse.csr_matrix((confidences, (users, rows)), shape=(job["users"], items))
    model = AlternatingLeastSquares(
        factors=dimensions,
        regularization=job["regularization"],
        alpha=1.0,
        iterations=job["iterations"],
        num_threads=job["threads"],
        random_state=job["seed"],
    )
    model.fit(matrix, show_progress=False)
    halves = model.item_factors.astype("<f2")
    if not numpy.isfinite(halves).all():
        raise SystemExit("the factors contain a value that is not a finite number")
    del model
    # All other results are computed from the rounded factors, because serving uses these.
    factors = halves.astype("f4")
    lengths = numpy.linalg.norm(factors, axis=1)
    numbers = read("token-ids.u32", "<u4")
    tokens = scipy.sparse.csr_matrix(
        (numpy.ones(len(numbers), "f4"), numbers, read("token-starts.u32", "<u4")),
        shape=(items, job["tokens"]),
    )
    halves.tofile(f"{folder}/items.f16")
    gram_of(factors).astype("<f8").tofile(f"{folder}/gram.f64")
    token_factors(tokens, factors, lengths > 0).astype("<f4").tofile(f"{folder}/tokens.f32")
    with open(f"{folder}/factorised.json", "w") as file:
        json.dump({"greatest_length": float(lengths.max())}, file)


end_with_parent()
main(sys.argv[1])
