import { DIMENSIONS } from '../../../api/recommendations/model/manifest.ts'
import { type Random, seededRandom } from '../../../tools/random/random.ts'
import { gaussian } from './gaussian.ts'

/** The items and users of a benchmark. Worlds of equal sizes are identical. */
export interface World {
  readonly items: number
  readonly users: number
  /** Writes the factors of an item to `out`. `row` is from 0 to `items` - 1. No factor vector is longer than 1. */
  factorsOf(row: number, out: Float32Array): void
  clusterOf(row: number): number
  /** Returns how many past interactions a user has, given the user's number from 0 to `users` - 1. */
  interactionsOf(user: number): number
  /** Draws an item that this user chooses, and returns its row. */
  chosenBy(user: number, random: Random): number
  /** Draws a user. Users with more past interactions are drawn more often. */
  anyUser(random: Random): number
}

const SEED = 17
/**
 * Exponent of the dimensions' standard deviations. With this value, the variance of the nth dimension is proportional
 * to 1/n, so the vectors have about 23 effective dimensions.
 */
const SPECTRUM_EXPONENT = -0.5
/**
 * Standard deviation of items from the centre of their cluster, divided by the standard deviation of the centres from
 * zero.
 */
const SPREAD = 0.7
/**
 * Ratio of the number of clusters to the square root of the number of items. A million items form 2,000 clusters, some
 * of which are several times as large as others.
 */
const CLUSTERS_PER_ROOT = 2
const CLUSTER_SKEW = 1.5
/**
 * The length of a factor vector is a random number below 1, raised to this power. Few items have long vectors, because
 * few items are popular.
 */
const LENGTH_EXPONENT = 2
const LEAST_LENGTH = 0.02
/** Number of clusters whose items a user likes. Within a cluster, users choose items with long vectors most often. */
const TASTES = 3
const CHOICE_SKEW = 2
/** Maximum number of interactions of a user. Most users have few; the mean is 12. */
const MOST_INTERACTIONS = 120
const INTERACTION_SKEW = 9

export function makeWorld(items: number, users: number): World {
  const random = seededRandom(SEED)
  const count = Math.max(TASTES, Math.round(CLUSTERS_PER_ROOT * Math.sqrt(items)))
  const spectrum = Float64Array.from({ length: DIMENSIONS }, (_, index) => (1 + index) ** SPECTRUM_EXPONENT)
  const middles = Array.from({ length: count }, () => Float32Array.from(spectrum, (size) => size * gaussian(random)))
  const clusters = Uint32Array.from({ length: items }, () => Math.floor(random() ** CLUSTER_SKEW * count))
  const lengths = Float32Array.from({ length: items }, () => Math.max(LEAST_LENGTH, random() ** LENGTH_EXPONENT))
  const members = membersOf(clusters, lengths, count)
  const interactions = Uint8Array.from({ length: users }, () => 1 + Math.floor(random() ** INTERACTION_SKEW * MOST_INTERACTIONS))
  const ends = endsOf(interactions)

  return {
    items,
    users,
    factorsOf(row, out) {
      const own = seededRandom(SEED + row)
      const middle = middles[clusters[row]]
      let squares = 0
      for (let index = 0; index < DIMENSIONS; index++) {
        out[index] = middle[index] + SPREAD * spectrum[index] * gaussian(own)
        squares += out[index] ** 2
      }
      const scale = lengths[row] / Math.sqrt(squares)
      for (let index = 0; index < DIMENSIONS; index++) out[index] *= scale
    },
    clusterOf: (row) => clusters[row],
    interactionsOf: (user) => interactions[user],
    chosenBy(user, draw) {
      const taste = Math.floor(draw() * TASTES)
      // Chooses the cluster of a random item, so that large clusters are liked by more users than small ones.
      const cluster = clusters[Math.floor(seededRandom(user * TASTES + taste)() * items)]
      const rows = members[cluster]
      return rows[Math.floor(draw() ** CHOICE_SKEW * rows.length)]
    },
    anyUser(draw) {
      const at = Math.floor(draw() * ends[users - 1])
      let [low, high] = [0, users - 1]
      while (low < high) {
        const middle = (low + high) >> 1
        if (ends[middle] > at) high = middle
        else low = middle + 1
      }
      return low
    },
  }
}

/** Returns the rows of each cluster, sorted by descending length of their factor vectors. */
function membersOf(clusters: Uint32Array, lengths: Float32Array, count: number): Uint32Array[] {
  const rows: number[][] = Array.from({ length: count }, () => [])
  clusters.forEach((cluster, row) => void rows[cluster].push(row))
  return rows.map((own) => Uint32Array.from(own).sort((one, other) => lengths[other] - lengths[one]))
}

function endsOf(counts: Uint8Array): Float64Array {
  let sum = 0
  return Float64Array.from(counts, (count) => {
    sum += count
    return sum
  })
}
