import { integer, type Random } from '../../tools/random/random.ts'
import type { PlannedFault } from './in-turn.ts'

/** Average time from the start of one fault to the start of the next: the fault, the recovery and the gap. */
export const FAULT_TAKES_MS = 3_000
const LONGEST_GAP_MS = 800
const SHORTEST_HOLD_MS = 400
/** Difference between the longest and the shortest duration of a fault. */
const HOLDS_MS = 1_600
/** Share of worker stops that outlast the worker's session of six seconds. */
const LOST_SESSIONS = 0.3
const SESSION_LOST_MS = 7_500
const OVERLAPS = 0.3

/**
 * Draws the order and the times of faults, one of each kind.
 * @param apis number of API processes
 * @param isWorkerStop returns true for faults that suspend a worker; some of these outlast the session of the worker
 */
export function drawFaults<K extends string>(
  random: Random,
  kinds: readonly K[],
  apis: number,
  isWorkerStop: (kind: K) => boolean,
): PlannedFault<K>[] {
  return shuffled(random, kinds).map((kind) => ({
    kind,
    api: integer(random, apis),
    holdMs: random() < LOST_SESSIONS && isWorkerStop(kind) ? SESSION_LOST_MS : SHORTEST_HOLD_MS + integer(random, HOLDS_MS),
    gapMs: integer(random, LONGEST_GAP_MS),
    overlaps: random() < OVERLAPS,
  }))
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
