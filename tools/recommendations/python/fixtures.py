"""Computes the expected values in the tests of the model: users that the library implicit folds in, and scores of
LightGBM's trees.

Run it with the environment of requirements.txt: python fixtures.py tests/api/recommendations/model/fixtures
"""

import json
import sys

import lightgbm
import numpy
import scipy.sparse
from implicit.cpu.als import AlternatingLeastSquares

USERS, ITEMS, FACTORS, ROWS, COLUMNS = 60, 40, 16, 300, 6


def main(folder):
    draw = numpy.random.default_rng(11)
    taste = draw.random((USERS, 3)) @ draw.random((3, ITEMS))
    matrix = scipy.sparse.csr_matrix(numpy.where(draw.random((USERS, ITEMS)) < taste / taste.max() / 2, 1 + 3 * taste, 0).astype("f4"))
    model = AlternatingLeastSquares(factors=FACTORS, regularization=0.5, alpha=1.0, iterations=10, num_threads=1, random_state=1)
    model.fit(matrix, show_progress=False)
    users = []
    for user in range(0, USERS, 6):
        row = matrix[user]
        history = [[int(item), float(weight)] for item, weight in zip(row.indices, row.data)]
        users.append({"history": history, "factors": model.recalculate_user(user, row).tolist()})
    with open(f"{folder}/fold-in.json", "w") as file:
        json.dump({"regularization": 0.5, "factors": model.item_factors.tolist(), "users": users}, file)
    rows = draw.random((ROWS, COLUMNS)) * 4 - 2
    labels = ((rows[:, 0] * rows[:, 1] + rows[:, 2]) > 0.5).astype(int)
    names = [f"column_{index}" for index in range(COLUMNS)]
    data = lightgbm.Dataset(rows, labels, group=[30] * (ROWS // 30), feature_name=names)
    parameters = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5, "verbosity": -1, "seed": 1, "num_threads": 1}
    booster = lightgbm.train(parameters, data, 20)
    booster.save_model(f"{folder}/trees.txt")
    asked = rows[:40]
    with open(f"{folder}/scores.json", "w") as file:
        json.dump({"columns": names, "rows": asked.tolist(), "scores": booster.predict(asked).tolist()}, file)


main(sys.argv[1])
