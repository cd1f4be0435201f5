import { expect, test } from 'vitest'
import { byteProducts } from '../../../../api/recommendations/model/byte-products.ts'
import { groupChoice, READ_ROWS } from '../../../../api/recommendations/model/group-choice.ts'
import type { GroupFile } from '../../../../api/recommendations/model/group-file.ts'
import type { NearBy } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 32
const PER_GROUP = 1_500
/** Number of vectors in each group. The first group is empty. */
const SIZES = [0, PER_GROUP, PER_GROUP, PER_GROUP, 2 * PER_GROUP]
const GROUPS = SIZES.length
const STARTS = [0, ...SIZES.map((_, group) => SIZES.slice(0, group + 1).reduce((sum, size) => sum + size))]
/** Lengths of the vectors in each group. Group 2 has the short vectors. */
const LENGTHS = [0, 0.5, 0.01, 0.5, 0.4]
const MOST_NUMBER = 127
/** The centre of each group points along the axis with the number of the group. */
const CENTRES = Int8Array.from({ length: GROUPS * DIMENSIONS }, (_, at) => (at % (DIMENSIONS + 1) === 0 ? MOST_NUMBER : 0))

function choice() {
  const reads: (readonly [group: number, count: number])[] = []
  const rows = Uint32Array.from({ length: STARTS[GROUPS] }, (_, place) => place)
  const file: GroupFile = {
    groups: GROUPS,
    starts: Uint32Array.from(STARTS),
    rows,
    steps: Float32Array.from(rows, (row) => row / 2),
    centreSteps: new Float32Array(GROUPS).fill(1 / MOST_NUMBER),
    centres: CENTRES,
    read(place, count, out) {
      const group = STARTS.lastIndexOf(place)
      reads.push([group, count])
      out.fill(1 + group, 0, count * DIMENSIONS)
    },
    close: () => undefined,
  }
  const lengths = Float32Array.from(SIZES.flatMap((size, group) => Array<number>(size).fill(LENGTHS[group])))
  const products = byteProducts(GROUPS + READ_ROWS, DIMENSIONS)
  products.numbers.set(CENTRES)
  const room = {
    numbers: products.numbers.subarray(GROUPS * DIMENSIONS),
    rows: new Uint32Array(READ_ROWS),
    steps: new Float32Array(READ_ROWS),
  }
  const { read } = groupChoice({ groups: file, dimensions: DIMENSIONS, lengths, products, room })
  function ask(values: readonly number[], by: NearBy) {
    reads.length = 0
    const vector = new Float32Array(DIMENSIONS)
    vector.set(values)
    const count = read(products.ask(vector), by)
    return { ...room, count, reads: [...reads] }
  }
  return ask
}

test('the groups with the nearest centres and the longest vectors are read, and only a part of the last one', () => {
  const ask = choice()
  const left = READ_ROWS - PER_GROUP
  const { numbers, rows, steps, count, reads } = ask([0, 0.1, 0.9, 0.2, 0.26], 'product')
  // By product, the short vectors of group 2 are worth little, although their centre is the nearest. The vectors of
  // group 3 are longer than those of group 4, and this outweighs that its centre is slightly further away.
  expect(reads).toEqual([
    [3, PER_GROUP],
    [4, left],
  ])
  expect(count).toBe(READ_ROWS)
  expect([rows[0], rows[PER_GROUP], rows[READ_ROWS - 1]]).toEqual([STARTS[3], STARTS[4], STARTS[4] + left - 1])
  expect(steps).toEqual(Float32Array.from(rows, (row) => row / 2))
  expect([numbers[0], numbers[PER_GROUP * DIMENSIONS]]).toEqual([4, 5])
})

test('by cosine, only the directions of the centres count, even after another query', () => {
  const ask = choice()
  ask([0, 0.9, 0, 0, 0.1], 'product')
  expect(ask([0, 0.1, 0.9, 0.2, 0.3], 'cosine').reads.map(([group]) => group)).toEqual([2, 4])
})

test('a query of zeros reads groups in any order, but no more rows than any other query', () => {
  for (const by of ['product', 'cosine'] as const) expect(choice()([0, 0, 0, 0], by).count).toBe(READ_ROWS)
})
