import { type Random, seededRandom } from '../../../tools/random/random.ts'

/**
 * The items and users of a benchmark. Worlds of equal sizes are identical. Items form clusters, and users choose items
 * of related clusters, so that vectors that are trained on their choices form clusters and have fewer effective
 * dimensions than there are clusters.
 */
export interface World {
  readonly items: number
  readonly users: number
  /** @param row from 0 to `items` - 1 */
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
 * Ratio of the number of clusters to the square root of the number of items. A million items form 2,000 clusters, some
 * of which are several times as large as others.
 */
const CLUSTERS_PER_ROOT = 2
const CLUSTER_SKEW = 1.5
/**
 * Number of clusters whose items a user likes. Within a cluster, users choose few items much more often than others.
 */
const TASTES = 3
const CHOICE_SKEW = 2
/**
 * Maximum difference between the numbers of the first cluster and of another cluster that a user likes. Users who like
 * a cluster also like clusters with similar numbers, as with related genres.
 */
const RELATED = 12
/** Maximum number of interactions of a user. Most users have few; the mean is 12. */
const MOST_INTERACTIONS = 120
const INTERACTION_SKEW = 9

export function makeWorld(items: number, users: number): World {
  const random = seededRandom(SEED)
  const count = Math.max(TASTES, Math.round(CLUSTERS_PER_ROOT * Math.sqrt(items)))
  // The first items fill every cluster, so that none is empty.
  const clusters = Uint32Array.from({ length: items }, (_, row) => (row < count ? row : Math.floor(random() ** CLUSTER_SKEW * count)))
  const members = membersOf(clusters, count)
  const interactions = Uint8Array.from({ length: users }, () => 1 + Math.floor(random() ** INTERACTION_SKEW * MOST_INTERACTIONS))
  const ends = endsOf(interactions)

  return {
    items,
    users,
    clusterOf: (row) => clusters[row],
    interactionsOf: (user) => interactions[user],
    chosenBy(user, draw) {
      const own = seededRandom(user)
      // The cluster of a random item, so that large clusters are liked by more users than small ones.
      const first = clusters[Math.floor(own() * items)]
      const offsets = Array.from({ length: TASTES - 1 }, () => Math.round((2 * own() - 1) * RELATED))
      const offset = [0, ...offsets][Math.floor(draw() * TASTES)]
      const rows = members[(first + offset + RELATED * count) % count]
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

/** Returns the rows of each cluster. */
function membersOf(clusters: Uint32Array, count: number): Uint32Array[] {
  const rows: number[][] = Array.from({ length: count }, () => [])
  clusters.forEach((cluster, row) => void rows[cluster].push(row))
  return rows.map((own) => Uint32Array.from(own))
}

function endsOf(counts: Uint8Array): Float64Array {
  let sum = 0
  return Float64Array.from(counts, (count) => {
    sum += count
    return sum
  })
}
