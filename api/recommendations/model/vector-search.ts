import { setImmediate as otherWork } from 'node:timers/promises'
import { exactSearch, MetricKind } from 'usearch'
import { dampingOf, type EightBitVectors, greatestOf, MOST_NUMBER, writeNumbers } from './eight-bits.ts'
import type { Factors } from './factors.ts'
import { leastOfGreatest } from './greatest-values.ts'
import { groupChoice } from './group-choice.ts'
import type { GroupFile } from './group-file.ts'
import type { NearBy, NearRow } from './vector-index.ts'

/** Finds the vectors with the largest products or cosines. Compares the query with vectors as 8-bit numbers. */
export interface VectorSearch {
  /** @param vector a vector whose length is at most 1 */
  search(vector: Float32Array, count: number, by: NearBy): NearRow[]
}

export interface VectorSearchOptions {
  readonly factors: Factors
  readonly dimensions: number
  /** The lengths of the vectors, divided by the maximum length. */
  readonly lengths: Float32Array
  /** The maximum length of a vector. */
  readonly greatest: number
  /** The groups of vectors that are not kept in memory; undefined if the bundle has no file of groups. */
  readonly groups: GroupFile | undefined
}

/**
 * Number of vectors that the search in each block returns per wanted vector. This search does not know the full lengths
 * of the vectors, so it may rank a wanted vector too low.
 */
const LOOKED_PER_WANTED = 1.5
/** Number of vectors per wanted vector that are ranked again by their factors. */
const CHECKED_PER_WANTED = 1.5
/**
 * Maximum ratio of the lengths of two vectors in a block. If the lengths differed more, the short vectors would be
 * rounded to only a few different numbers, because all vectors of a block have a common scale.
 */
const MOST_RATIO = 2
/**
 * Maximum number of blocks. The last block has all vectors that are too short for the others, whatever their lengths.
 */
const MOST_BLOCKS = 8
const ONE_THREAD = 1
/**
 * Number of rows converted between two pauses. Converting them takes a millisecond or two. The process serves requests
 * during the pauses.
 */
const ROWS_AT_ONCE = 512
const METRICS: Readonly<Record<NearBy, MetricKind>> = { product: MetricKind.IP, cosine: MetricKind.Cos }

/**
 * Creates a search that compares the query with the longest vectors, which are kept in memory, and with the vectors of
 * the groups that are most likely to contain the best ones, which are read from a file. The best results are ranked
 * again by their factors: docs/adr/0091-vectors-are-searched-in-groups.md
 */
export async function vectorSearch({ factors, dimensions, lengths, greatest, groups }: VectorSearchOptions): Promise<VectorSearch> {
  const longest = longestRows(lengths, groups?.rows)
  await otherWork()
  const blocks = await blocksOf(longest, { factors, dimensions, lengths, greatest })
  const chosen = groups === undefined || groups.groups === 0 ? undefined : groupChoice(groups, dimensions, lengths)
  const query = new Int8Array(dimensions)

  /** The results of all blocks, one after another: their rows, and estimates of their products or cosines. */
  let rows = new Uint32Array()
  let values = new Float64Array()

  return {
    search(vector, count, by) {
      const scale = MOST_NUMBER / (greatestOf(vector) || 1)
      writeNumbers(vector, scale, query, 0)
      const looked = Math.ceil(count * LOOKED_PER_WANTED)
      const searched = chosen === undefined ? blocks : [...blocks, chosen.read(query, scale, by)]
      if (rows.length < looked * searched.length) {
        rows = new Uint32Array(looked * searched.length)
        values = new Float64Array(looked * searched.length)
      }
      let found = 0
      for (const block of searched) {
        const most = Math.min(block.rows.length, looked)
        if (most === 0) continue
        const { keys, distances } = exactSearch(block.numbers, query, dimensions, most, METRICS[by], ONE_THREAD)
        // Reads only the lower halves of the keys, because all keys are below 2^32.
        const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length)
        for (let at = 0; at < most; at++, found++) {
          const row = block.rows[halves[2 * at]]
          rows[found] = row
          values[found] = by === 'product' ? ((1 - distances[at]) * Math.sqrt(lengths[row])) / block.scale : 1 - distances[at]
        }
      }
      return best(found, vector, count, by)
    },
  }

  /** Ranks the best of the first `found` results by their factors. */
  function best(found: number, vector: Float32Array, count: number, by: NearBy): NearRow[] {
    const least = leastOfGreatest(values.subarray(0, found), Math.ceil(count * CHECKED_PER_WANTED))
    const ranked: NearRow[] = []
    for (let at = 0; at < found; at++) {
      if (values[at] < least) continue
      const key = rows[at]
      const product = factors.productWith(key, vector) / greatest
      ranked.push({ key, value: by === 'product' ? product : lengths[key] === 0 ? 0 : product / lengths[key] })
    }
    ranked.sort((one, other) => other.value - one.value || one.key - other.key)
    if (ranked.length > count) ranked.length = count
    return ranked
  }
}

/** Returns the rows that are in no group, sorted by descending length. */
function longestRows(lengths: Float32Array, grouped: Uint32Array = new Uint32Array()): Uint32Array {
  const isGrouped = new Uint8Array(lengths.length)
  for (const row of grouped) isGrouped[row] = 1
  const rows = new Uint32Array(lengths.length - grouped.length)
  let count = 0
  for (let row = 0; row < lengths.length; row++) if (isGrouped[row] === 0) rows[count++] = row
  return rows.sort((one, other) => lengths[other] - lengths[one] || one - other)
}

type Vectors = Pick<VectorSearchOptions, 'factors' | 'dimensions' | 'lengths' | 'greatest'>

/** Divides vectors into blocks. The vectors are sorted by descending length. */
async function blocksOf(rows: Uint32Array, vectors: Vectors): Promise<EightBitVectors[]> {
  const { lengths } = vectors
  const blocks: EightBitVectors[] = []
  for (let start = 0, end = 0; start < rows.length; start = end) {
    const isLast = blocks.length === MOST_BLOCKS - 1
    while (end < rows.length && (isLast || lengths[rows[end]] * MOST_RATIO >= lengths[rows[start]])) end++
    blocks.push(await blockOf(rows.subarray(start, end), vectors))
  }
  return blocks
}

/** Converts vectors to 8-bit numbers. Their greatest value becomes the largest 8-bit number. */
async function blockOf(rows: Uint32Array, { factors, dimensions, lengths, greatest }: Vectors): Promise<EightBitVectors> {
  const vector = new Float32Array(dimensions)
  const numbers = new Int8Array(rows.length * dimensions)
  const damping = (row: number) => dampingOf(lengths[row]) / greatest
  let [most, scale] = [0, 0]
  for (const each of [
    (row: number) => {
      most = Math.max(most, greatestOf(vector) * damping(row))
    },
    (row: number, place: number) => writeNumbers(vector, scale * damping(row), numbers, place * dimensions),
  ]) {
    for (let place = 0; place < rows.length; place++) {
      factors.copy(rows[place], vector, 0)
      each(rows[place], place)
      if (place % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await otherWork()
    }
    scale = most === 0 ? 1 : MOST_NUMBER / most
  }
  return { numbers, rows, scale }
}
