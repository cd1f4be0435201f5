import { expect, test } from 'vitest'
import { byteProducts } from '../../../../api/recommendations/model/byte-products.ts'
import { groupChoice, READ_ROWS } from '../../../../api/recommendations/model/group-choice.ts'
import type { GroupFile } from '../../../../api/recommendations/model/group-file.ts'
import type { NearBy } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 32
const PER_GROUP = 1_500
const GROUPS = 4
/** Lengths of the vectors in each group. Group 1 has the short vectors. */
const LENGTHS = [0.5, 0.01, 0.5, 0.4]
const MOST_NUMBER = 127
/** The centre of each group points along the axis with the number of the group. */
const CENTRES = Int8Array.from({ length: GROUPS * DIMENSIONS }, (_, at) => (at % (DIMENSIONS + 1) === 0 ? MOST_NUMBER : 0))

function choice() {
  const reads: (readonly [group: number, count: number])[] = []
  const rows = Uint32Array.from({ length: GROUPS * PER_GROUP }, (_, place) => place)
  const file: GroupFile = {
    groups: GROUPS,
    starts: Uint32Array.from({ length: GROUPS + 1 }, (_, group) => group * PER_GROUP),
    rows,
    steps: Float32Array.from(rows, (row) => row / 2),
    centreSteps: new Float32Array(GROUPS).fill(1 / MOST_NUMBER),
    centres: CENTRES,
    read(place, count, out) {
      reads.push([place / PER_GROUP, count])
      out.fill(1 + place / PER_GROUP, 0, count * DIMENSIONS)
    },
    close: () => undefined,
  }
  const lengths = Float32Array.from(rows, (row) => LENGTHS[Math.floor(row / PER_GROUP)])
  const products = byteProducts(GROUPS + READ_ROWS, DIMENSIONS)
  products.numbers.set(CENTRES)
  const chosen = {
    numbers: products.numbers.subarray(GROUPS * DIMENSIONS),
    rows: new Uint32Array(READ_ROWS),
    steps: new Float32Array(READ_ROWS),
  }
  const { read } = groupChoice(file, lengths, products, chosen)
  function ask(values: readonly number[], by: NearBy) {
    reads.length = 0
    const vector = new Float32Array(DIMENSIONS)
    vector.set(values)
    const count = read(products.ask(vector), by)
    return { ...chosen, count, reads: [...reads] }
  }
  return ask
}

test('the groups with the nearest centres and the longest vectors are read, and only a part of the last one', () => {
  const ask = choice()
  const left = READ_ROWS - 2 * PER_GROUP
  const { numbers, rows, steps, count, reads } = ask([0.1, 0.9, 0.2, 0.26], 'product')
  // By product, the short vectors of group 1 are worth little, although their centre is the nearest. The vectors of
  // group 2 are longer than those of group 3, and this outweighs that its centre is slightly further away.
  expect(reads).toEqual([
    [2, PER_GROUP],
    [3, PER_GROUP],
    [0, left],
  ])
  expect(count).toBe(READ_ROWS)
  expect([rows[0], rows[PER_GROUP], rows[READ_ROWS - 1]]).toEqual([2 * PER_GROUP, 3 * PER_GROUP, left - 1])
  expect(steps).toEqual(Float32Array.from(rows, (row) => row / 2))
  expect([numbers[0], numbers[PER_GROUP * DIMENSIONS], numbers.at(-1)]).toEqual([3, 4, 1])
})

test('by cosine, only the directions of the centres count, even after another query', () => {
  const ask = choice()
  ask([0.9, 0, 0, 0.1], 'product')
  expect(ask([0.1, 0.9, 0.2, 0.3], 'cosine').reads.map(([group]) => group)).toEqual([1, 3, 2])
})

test('a query of zeros reads groups in any order, but no more rows than any other query', () => {
  for (const by of ['product', 'cosine'] as const) expect(choice()([0, 0, 0, 0], by).count).toBe(READ_ROWS)
})
