import type { SwipeDirection } from '../../../schemas/matches/directions.ts'
import { integer, pick, type Random, seededRandom } from '../../../tools/random/random.ts'
import { drawFaults, FAULT_TAKES_MS } from '../draw-faults.ts'
import type { PlannedFault } from '../in-turn.ts'

/** Number of API processes. */
export const APIS = 3

/** What two users do with each other. */
export type EpisodeKind =
  /** The users swipe each other at the same time. */
  | 'mutual'
  /** One user swipes the other. */
  | 'single'
  /** One swipe is sent to all APIs with the same key at the same time, and once more later. */
  | 'repeated'
  /** A swipe, a rewind of it, and sometimes another swipe. */
  | 'rewound'
  /** A user sends two swipes in different directions at the same time, and the other user swipes back. */
  | 'changed'
  /**
   * One user blocks the other and swipes the other at the same time. Sometimes the block is then lifted, and both users
   * swipe again.
   */
  | 'blocked'
  /** Both users block each other, and one of them lifts their own block. */
  | 'feud'
  /** A user sends a block and its removal at the same time. Only the log shows which came first. */
  | 'undecided'
  /** One of the users ends the match, and a swipe follows. Sometimes a block and its removal follow as well. */
  | 'unmatched'
  /** A match that an external detector reports as well. */
  | 'reported'

/** A sequence of actions of two users. Each pair of users has one episode. */
export interface Episode {
  readonly kind: EpisodeKind
  /** Time after the start of the round, ms. */
  readonly atMs: number
  /** Indexes of the two users in the round. */
  readonly one: number
  readonly other: number
  /** The APIs of successive requests. */
  readonly apis: readonly number[]
  readonly directions: readonly SwipeDirection[]
  /** Pauses between the steps. */
  readonly pausesMs: readonly number[]
  /** Whether the episode includes its optional steps. Some kinds have none. */
  readonly isLong: boolean
}

/** What happens between two users before one of them deletes their profile. */
export type Deed = 'likes' | 'liked' | 'mutual' | 'blocks' | 'blocked'

/** A user who deletes their profile during the round. This user has no episode. */
export interface Departure {
  /** Time after the start of the round, ms. */
  readonly atMs: number
  /** Index of the user. The users of the episodes have the lower indexes. */
  readonly user: number
  readonly partners: readonly { readonly other: number; readonly deed: Deed }[]
  /** The APIs of successive requests. */
  readonly apis: readonly number[]
  readonly pausesMs: readonly number[]
  /** Whether the user creates a new profile and then likes the same users again. */
  readonly returns: boolean
}

export type MatchFaultKind =
  | 'api-killed'
  | 'api-stopped'
  | 'worker-killed'
  | 'worker-stopped'
  | 'redis-killed'
  | 'redis-stopped'
  | 'redis-emptied'
  | 'kafka-killed'
  | 'kafka-stopped'
  /** Kafka is stopped. While it is down, an API is killed and restarted. */
  | 'outage'
  /** Kafka is stopped. While it is down, Redis is emptied. */
  | 'outage-emptied'

export const MATCH_FAULTS: readonly MatchFaultKind[] = [
  'api-killed',
  'api-stopped',
  'worker-killed',
  'worker-stopped',
  'redis-killed',
  'redis-stopped',
  'redis-emptied',
  'kafka-killed',
  'kafka-stopped',
  'outage',
  'outage-emptied',
]

export type MatchFault = PlannedFault<MatchFaultKind>

export interface Plan {
  readonly seed: number
  /** Number of users, including those who leave. */
  readonly users: number
  readonly episodes: readonly Episode[]
  readonly departures: readonly Departure[]
  readonly faults: readonly MatchFault[]
}

export interface PlanOptions {
  readonly users: number
  /** Number of additional users who delete their profiles. */
  readonly leavers: number
  /** The kinds of faults. Each occurs once, in an order that depends on the seed. */
  readonly faults: readonly MatchFaultKind[]
}

/** Relative frequency of each kind of episode. */
const SHARES: readonly (readonly [EpisodeKind, number])[] = [
  ['mutual', 22],
  ['single', 16],
  ['repeated', 14],
  ['rewound', 16],
  ['changed', 10],
  ['blocked', 10],
  ['feud', 4],
  ['undecided', 4],
  ['unmatched', 5],
  ['reported', 3],
]
const LONGEST_PAUSE_MS = 1_000
const STEPS = 8
const DEEDS: readonly Deed[] = ['likes', 'liked', 'mutual', 'blocks', 'blocked']
const LIKES: readonly SwipeDirection[] = ['RIGHT', 'SUPER_LIKE']
const DIRECTIONS: readonly SwipeDirection[] = ['LEFT', 'RIGHT', 'RIGHT', 'SUPER_LIKE']

/** Draws a round. The same seed and options give the same round. */
export function drawPlan(seed: number, { users, leavers, faults: kinds }: PlanOptions): Plan {
  const random = seededRandom(seed)
  const faults = drawFaults(random, kinds, APIS, (kind) => kind === 'worker-stopped')
  // Episodes are spread over the duration of all faults.
  const lastsMs = Math.max(1, faults.length) * FAULT_TAKES_MS
  const pairs: [number, number][] = []
  for (let one = 0; one < users; one++)
    for (let other = one + 1; other < users; other++) pairs.push(random() < 0.5 ? [one, other] : [other, one])
  const episodes = pairs.map(([one, other]): Episode => {
    const kind = drawKind(random)
    return {
      kind,
      atMs: integer(random, lastsMs),
      one,
      other,
      apis: Array.from({ length: STEPS }, () => integer(random, APIS)),
      directions: Array.from({ length: STEPS }, () => pick(random, kind === 'mutual' ? LIKES : DIRECTIONS)),
      pausesMs: Array.from({ length: STEPS }, () => integer(random, LONGEST_PAUSE_MS)),
      isLong: random() < 0.5,
    }
  })
  const departures = Array.from({ length: leavers }, (_, index): Departure => {
    const first = integer(random, users)
    return {
      atMs: integer(random, lastsMs),
      user: users + index,
      partners: DEEDS.map((deed, place) => ({ other: (first + place) % users, deed })),
      apis: Array.from({ length: STEPS }, () => integer(random, APIS)),
      pausesMs: Array.from({ length: STEPS }, () => integer(random, LONGEST_PAUSE_MS)),
      returns: index % 2 === 0,
    }
  })
  return { seed, users: users + leavers, departures, episodes: episodes.toSorted((a, b) => a.atMs - b.atMs), faults }
}

function drawKind(random: Random): EpisodeKind {
  let left = random() * SHARES.reduce((sum, [, share]) => sum + share, 0)
  for (const [kind, share] of SHARES) {
    left -= share
    if (left < 0) return kind
  }
  return 'single'
}
