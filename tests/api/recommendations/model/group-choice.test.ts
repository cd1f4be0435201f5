import { expect, test } from 'vitest'
import { greatestOf, MOST_NUMBER, writeNumbers } from '../../../../api/recommendations/model/eight-bits.ts'
import { groupChoice, READ_ROWS } from '../../../../api/recommendations/model/group-choice.ts'
import type { GroupFile } from '../../../../api/recommendations/model/group-file.ts'
import type { NearBy } from '../../../../api/recommendations/model/vector-index.ts'

const DIMENSIONS = 4
const PER_GROUP = 1_500
const GROUPS = 4
/** Lengths of the vectors in each group. Group 1 has the short vectors. */
const LENGTHS = [0.5, 0.01, 0.5, 0.4]
/** The centre of each group points along the axis with the number of the group. */
const CENTRES = Int8Array.from({ length: GROUPS * DIMENSIONS }, (_, at) => (at % (DIMENSIONS + 1) === 0 ? MOST_NUMBER : 0))

function choice() {
  const reads: (readonly [group: number, count: number])[] = []
  const rows = Uint32Array.from({ length: GROUPS * PER_GROUP }, (_, place) => place)
  const file: GroupFile = {
    groups: GROUPS,
    starts: Uint32Array.from({ length: GROUPS + 1 }, (_, group) => group * PER_GROUP),
    rows,
    centres: CENTRES,
    centreScale: MOST_NUMBER,
    scale: 9,
    read(place, count, out) {
      reads.push([place / PER_GROUP, count])
      out.fill(1 + place / PER_GROUP, 0, count * DIMENSIONS)
    },
    close: () => undefined,
  }
  const lengths = Float32Array.from(rows, (row) => LENGTHS[Math.floor(row / PER_GROUP)])
  const { read } = groupChoice(file, DIMENSIONS, lengths)
  function ask(values: readonly number[], by: NearBy) {
    reads.length = 0
    const vector = Float32Array.from(values)
    const query = new Int8Array(DIMENSIONS)
    const scale = MOST_NUMBER / (greatestOf(vector) || 1)
    writeNumbers(vector, scale, query, 0)
    return { ...read(query, scale, by), reads: [...reads] }
  }
  return ask
}

test('the groups with the nearest centres and the longest vectors are read, and only a part of the last one', () => {
  const ask = choice()
  const left = READ_ROWS - 2 * PER_GROUP
  const { numbers, rows, scale, reads } = ask([0.1, 0.9, 0.2, 0.26], 'product')
  // By product, the short vectors of group 1 are worth little, although their centre is the nearest. The vectors of
  // group 2 are longer than those of group 3, and this outweighs that its centre is slightly further away.
  expect(reads).toEqual([
    [2, PER_GROUP],
    [3, PER_GROUP],
    [0, left],
  ])
  expect([rows.length, numbers.length, scale]).toEqual([READ_ROWS, READ_ROWS * DIMENSIONS, 9])
  expect([rows[0], rows[PER_GROUP], rows[READ_ROWS - 1]]).toEqual([2 * PER_GROUP, 3 * PER_GROUP, left - 1])
  expect([numbers[0], numbers[PER_GROUP * DIMENSIONS], numbers.at(-1)]).toEqual([3, 4, 1])
})

test('by cosine, only the directions of the centres count, even after another query', () => {
  const ask = choice()
  ask([0.9, 0, 0, 0.1], 'product')
  expect(ask([0.1, 0.9, 0.2, 0.3], 'cosine').reads.map(([group]) => group)).toEqual([1, 3, 2])
})

test('a query of zeros reads groups in any order, but no more rows than any other query', () => {
  for (const by of ['product', 'cosine'] as const) expect(choice()([0, 0, 0, 0], by).rows).toHaveLength(READ_ROWS)
})
