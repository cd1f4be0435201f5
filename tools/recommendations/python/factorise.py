"""Factorises interactions, and places the tokens of items in the same space, so that new items have a place too."""

import json
import sys

import numpy
import scipy.sparse
import scipy.sparse.linalg
from implicit.cpu.als import AlternatingLeastSquares

# Token weights are regularised so strongly that a token of few items stays near zero.
TOKEN_REGULARIZATION, TOKEN_STEPS = 5.0, 50


def token_factors(tokens, factors, lengths):
    """Solves the ridge regression from tokens to factors, so that the sum of an item's tokens is near its factors."""
    known = lengths > 0
    rows = tokens[known]
    gram = (rows.T @ rows + TOKEN_REGULARIZATION * scipy.sparse.identity(rows.shape[1])).tocsr()
    target = rows.T @ factors[known]
    columns = [scipy.sparse.linalg.cg(gram, target[:, i], maxiter=TOKEN_STEPS)[0] for i in range(factors.shape[1])]
    return numpy.stack(columns, axis=1)


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
        raise SystemExit("the factors hold something that is no number")
    # All other results are computed from the rounded factors, because serving uses these.
    factors = halves.astype("<f8")
    lengths = numpy.linalg.norm(factors, axis=1)
    tokens = scipy.sparse.csr_matrix(
        (numpy.ones(len(read("token-ids.u32", "<u4"))), read("token-ids.u32", "<u4"), read("token-starts.u32", "<u4")),
        shape=(items, job["tokens"]),
    )
    halves.tofile(f"{folder}/items.f16")
    (factors.T @ factors).astype("<f8").tofile(f"{folder}/gram.f64")
    token_factors(tokens, factors, lengths).astype("<f4").tofile(f"{folder}/tokens.f32")
    with open(f"{folder}/factorised.json", "w") as file:
        json.dump({"greatest_length": float(lengths.max())}, file)


main(sys.argv[1])
