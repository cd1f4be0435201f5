import { exactSearch, MetricKind } from 'usearch'
import type { EightBitVectors } from './eight-bits.ts'
import { placeOfGreatest } from './greatest-values.ts'
import type { GroupFile } from './group-file.ts'
import type { NearBy } from './vector-index.ts'

export interface GroupChoice {
  /**
   * Reads the vectors of the groups that are most likely to contain the best vectors. The next call overwrites them.
   * @param query the vector as 8-bit numbers
   * @param queryScale the factor by which the vector was multiplied before it was rounded
   */
  read(query: Int8Array, queryScale: number, by: NearBy): EightBitVectors
}

/** Number of vectors that one search reads. */
export const READ_ROWS = 4_000
/** Number of groups with the nearest centres, from which a search chooses. */
const NEAREST_GROUPS = 256
/**
 * Added to the cosine of the query and a group's centre. Some vectors of a group are nearer to the query than the
 * centre is, so groups of long vectors are worth a look even if their centre is at a right angle to the query.
 */
const COSINE_WITHIN_GROUP = 0.1
const ONE_THREAD = 1
/** Marks a group that has been read. */
const READ = Number.NEGATIVE_INFINITY

/** @param lengths the lengths of all vectors, divided by the maximum length */
export function groupChoice(groups: GroupFile, dimensions: number, lengths: Float32Array): GroupChoice {
  const { starts, centres, centreScale, scale } = groups
  const means = meanLengths(groups, lengths)
  const numbers = new Int8Array(READ_ROWS * dimensions)
  const bytes = new Uint8Array(numbers.buffer)
  const rows = new Uint32Array(READ_ROWS)

  return {
    read(query, queryScale, by) {
      const near = Math.min(groups.groups, NEAREST_GROUPS)
      const { keys, distances } = exactSearch(centres, query, dimensions, near, MetricKind.IP, ONE_THREAD)
      const halves = new Uint32Array(keys.buffer, keys.byteOffset, 2 * keys.length)
      const worth = Float64Array.from(distances, (distance, at) => {
        const cosine = (1 - distance) / (queryScale * centreScale)
        return by === 'cosine' ? cosine : (cosine + COSINE_WITHIN_GROUP) * means[halves[2 * at]]
      })
      let count = 0
      for (let left = near; left > 0 && count < READ_ROWS; left--) {
        const best = placeOfGreatest(worth)
        worth[best] = READ
        const place = starts[halves[2 * best]]
        // If the last group does not fit, only its longest vectors are read.
        const size = Math.min(starts[halves[2 * best] + 1] - place, READ_ROWS - count)
        groups.read(place, size, bytes.subarray(count * dimensions))
        rows.set(groups.rows.subarray(place, place + size), count)
        count += size
      }
      return { numbers: numbers.subarray(0, count * dimensions), rows: rows.subarray(0, count), scale }
    },
  }
}

function meanLengths({ groups, starts, rows }: GroupFile, lengths: Float32Array): Float32Array {
  return Float32Array.from({ length: groups }, (_, group) => {
    let sum = 0
    for (let place = starts[group]; place < starts[group + 1]; place++) sum += lengths[rows[place]]
    return sum / Math.max(1, starts[group + 1] - starts[group])
  })
}
