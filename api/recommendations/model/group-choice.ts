import type { ByteProducts } from './byte-products.ts'
import { placeOfGreatest } from './greatest-values.ts'
import type { GroupFile } from './group-file.ts'
import type { NearBy } from './vector-index.ts'

/** Where a choice writes the vectors that it reads. */
export interface RoomForVectors {
  /** Room for the 8-bit numbers of READ_ROWS vectors. */
  readonly numbers: Int8Array
  /** Room for their rows. */
  readonly rows: Uint32Array
  /** Room for their steps. */
  readonly steps: Float32Array
}

export interface GroupChoice {
  /**
   * Reads the vectors of the groups that are most likely to contain the best vectors. Returns their number.
   * @param queryStep the step that `products.ask` returned for the query
   */
  read(queryStep: number, by: NearBy): number
}

export interface GroupChoiceOptions {
  readonly groups: GroupFile
  readonly dimensions: number
  /** The lengths of all vectors, divided by the maximum length. */
  readonly lengths: Float32Array
  /** Contains the centres of the groups at its beginning. */
  readonly products: ByteProducts
  readonly room: RoomForVectors
}

/** Maximum number of vectors that one search reads. */
export const READ_ROWS = 4_000
/** Maximum number of groups that one search reads. Each of them takes a system call. */
const MOST_READS = 128
/**
 * Added to the cosine of the query and a group's centre. Some vectors of a group are nearer to the query than the
 * centre is, so groups of long vectors are worth a look even if their centre is at a right angle to the query.
 */
const COSINE_WITHIN_GROUP = 0.1
/** Marks a group that has been read. */
const READ = Number.NEGATIVE_INFINITY

export function groupChoice({ groups, dimensions, lengths, products, room }: GroupChoiceOptions): GroupChoice {
  const { starts, centreSteps } = groups
  const bytes = new Uint8Array(room.numbers.buffer, room.numbers.byteOffset, room.numbers.length)
  const means = meanLengths(groups, lengths)
  const worth = new Float64Array(groups.groups)

  return {
    read(queryStep, by) {
      const dots = products.of(0, groups.groups)
      for (let group = 0; group < worth.length; group++) {
        const cosine = dots[group] * centreSteps[group] * queryStep
        worth[group] = by === 'cosine' ? cosine : (cosine + COSINE_WITHIN_GROUP) * means[group]
      }
      let count = 0
      for (let left = Math.min(worth.length, MOST_READS); left > 0 && count < READ_ROWS; left--) {
        const best = placeOfGreatest(worth)
        worth[best] = READ
        const place = starts[best]
        // If the last group does not fit, only its longest vectors are read.
        const size = Math.min(starts[best + 1] - place, READ_ROWS - count)
        groups.read(place, size, bytes.subarray(count * dimensions))
        room.rows.set(groups.rows.subarray(place, place + size), count)
        room.steps.set(groups.steps.subarray(place, place + size), count)
        count += size
      }
      return count
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
