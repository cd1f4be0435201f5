import type { AvroSchema } from '../../../pipelines/engine/index.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { longRecord } from '../longs.ts'

/** Swipes as columns, in chronological order. */
export interface Swipes {
  readonly count: number
  readonly swiper: Int32Array
  readonly swipee: Int32Array
  readonly right: Uint8Array
  /** Time of each swipe, epoch ms. */
  readonly ts: Float64Array
}

/** A record of the input topic. */
export interface Swipe {
  swiper: number
  swipee: number
  right: boolean
  ts: number
}

/** A record of the output topic. The smaller user number comes first, and `ts` is the time of the later swipe. */
export interface Match {
  lo: number
  hi: number
  ts: number
}

export const swipeSchema: AvroSchema = {
  type: 'record',
  name: 'Swipe',
  namespace: 'millrace.bench',
  fields: [
    { name: 'swiper', type: 'long' },
    { name: 'swipee', type: 'long' },
    { name: 'right', type: 'boolean' },
    { name: 'ts', type: 'long' },
  ],
}
export const matchSchema = longRecord('Match', ['lo', 'hi', 'ts'])

const DAY_MS = 86_400_000
/** Maximum time between two right-swipes that match. */
export const JOIN_SPAN_MS = 30 * DAY_MS

/** Time of the first swipe, 2026-01-01T00:00Z. */
const FIRST_MS = 1_767_225_600_000
const DAYS = 60
/**
 * Maximum time from a swipe until the other user swipes back or the same user repeats the swipe, as a share of the 60
 * days that the swipes cover. The share corresponds to 40 days.
 */
const ANSWERED_WITHIN = 2 / 3
const USERS = 59_946
const ANSWERS = 0.35
const REPEATS = 0.02
const RIGHT = 0.45
const SEED = 3

/**
 * Generates swipes: in 35 %, the target of an earlier swipe swipes back; 2 % repeat an earlier swipe; and the rest are
 * between random users. Whether a swipe goes right is random, with a probability of 45 %. Some users are more popular
 * than others.
 */
export function makeSwipes(count: number): Swipes {
  const random = seededRandom(SEED)
  const swiper = new Int32Array(count)
  const swipee = new Int32Array(count)
  const right = new Uint8Array(count)
  const ts = new Float64Array(count)
  const step = (DAYS * DAY_MS) / count
  for (let i = 0; i < count; i++) {
    ts[i] = FIRST_MS + Math.floor(i * step)
    const kind = random()
    if (i > 0 && kind < ANSWERS + REPEATS) {
      const earlier = i - 1 - integer(random, Math.max(1, Math.min(i, Math.floor(count * ANSWERED_WITHIN))))
      swiper[i] = kind < ANSWERS ? swipee[earlier] : swiper[earlier]
      swipee[i] = kind < ANSWERS ? swiper[earlier] : swipee[earlier]
    } else {
      const square = random() ** 2
      swiper[i] = integer(random, USERS)
      swipee[i] = Math.floor(USERS * square)
      if (swiper[i] === swipee[i]) swipee[i] = (swipee[i] + 1) % USERS
    }
    right[i] = random() < RIGHT ? 1 : 0
  }
  return { count, swiper, swipee, right, ts }
}

/** Returns the key of a pair in both topics. */
export function pairKey(a: number, b: number): string {
  return `${Math.min(a, b)}:${Math.max(a, b)}`
}
