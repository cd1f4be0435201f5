import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { foldIn } from '../../../../api/recommendations/model/fold-in.ts'

interface Fixture {
  readonly regularization: number
  readonly factors: readonly (readonly number[])[]
  readonly users: readonly { readonly history: readonly (readonly [number, number])[]; readonly factors: readonly number[] }[]
}

/** Results of `implicit`. tools/recommendations/python/fixtures.py generates them. */
const fixture = JSON.parse(readFileSync(new URL('./fixtures/fold-in.json', import.meta.url), 'utf8')) as Fixture
const dimensions = fixture.factors[0].length
const gram = new Float64Array(dimensions * dimensions)
for (const row of fixture.factors) {
  for (const [i, one] of row.entries()) for (const [j, other] of row.entries()) gram[i * dimensions + j] += one * other
}
const solver = await foldIn({ gram, dimensions, regularization: fixture.regularization })

test.each(fixture.users.map((user, index) => [index, user] as const))(
  'user %i gets the same vector as from the Python library implicit',
  (_, user) => {
    // The fixture contains confidences. The confidence of an interaction is its weight plus one.
    const weights = user.history.map(([, confidence]) => confidence - 1)
    const solved = solver.solve(Float32Array.from(user.history.flatMap(([item]) => fixture.factors[item])), weights)!
    expect(cosine(solved, user.factors)).toBeGreaterThanOrEqual(0.999)
    expect(Math.sqrt(product(solved, solved))).toBeCloseTo(Math.sqrt(product(user.factors, user.factors)), 3)
  },
)

test('a user without items has no vector', () => {
  expect(solver.solve(new Float32Array(dimensions), [])).toBeUndefined()
})

function cosine(one: ArrayLike<number>, other: ArrayLike<number>): number {
  return product(one, other) / Math.sqrt(product(one, one) * product(other, other))
}

function product(one: ArrayLike<number>, other: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at]
  return sum
}
