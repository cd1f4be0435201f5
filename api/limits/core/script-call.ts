import type { Ask, Reading } from './counter.ts'
import { capacityOf } from './formulas.ts'

/** The arguments of DECIDE_SCRIPT. */
export interface ScriptCall {
  readonly keys: string[]
  /** Five numbers for each kind of ask. Asks with the same five numbers share one kind. */
  readonly kinds: number[]
  /**
   * For each request, the kind of its ask. If a request has several asks, the number of its asks comes first, as a
   * negative number, and then the kind of each ask.
   */
  readonly calls: number[]
}

export const NUMBERS_PER_READING = 3
/** A charge is a give-back with a negative number of units. */
const MODES = { hard: 0, soft: 1, 'up-to': 2, 'give-back': 3, charge: 3 } as const
const BUCKET_MODES = 4
const NUMBERS_PER_KIND = 5

export function newCall(): ScriptCall {
  return { keys: [], kinds: [], calls: [] }
}

/** Adds one request to the call. */
export function append({ keys, kinds, calls }: ScriptCall, asks: readonly Ask[]): void {
  if (asks.length > 1) calls.push(-asks.length)
  for (const ask of asks) {
    keys.push(ask.counter.key)
    calls.push(kindOf(kinds, ask))
  }
}

/**
 * Finds the kind of an ask in the call, or adds it.
 * @returns the position of the kind, counted from 1
 */
function kindOf(kinds: number[], ask: Ask): number {
  const { limit, windowSeconds, burst } = ask.counter.limit
  const mode = MODES[ask.mode] + (burst > 0 ? BUCKET_MODES : 0)
  const extra = burst > 0 ? capacityOf(ask.counter.limit) : 'windowIndex' in ask ? ask.windowIndex : 0
  const units = ask.mode === 'charge' ? -ask.units : ask.units
  // One turn of the event loop involves few rules, so a linear search is fast.
  for (let at = 0; at < kinds.length; at += NUMBERS_PER_KIND) {
    const isSame = kinds[at] === mode && kinds[at + 1] === limit && kinds[at + 2] === windowSeconds && kinds[at + 3] === extra
    if (isSame && kinds[at + 4] === units) return at / NUMBERS_PER_KIND + 1
  }
  kinds.push(mode, limit, windowSeconds, extra, units)
  return kinds.length / NUMBERS_PER_KIND
}

export function argumentsOf({ kinds, calls }: ScriptCall): number[] {
  return [kinds.length / NUMBERS_PER_KIND, ...kinds, ...calls]
}

/**
 * Decodes the readings of one request.
 * @param numbers the script's answer
 * @param from position at which the readings of the request begin
 * @param asks number of asks in the request
 */
export function readingsOf(numbers: readonly number[], from: number, asks: number): Reading[] {
  const readings: Reading[] = []
  for (let at = from; readings.length < asks; at += NUMBERS_PER_READING) {
    readings.push({ taken: numbers[at], nowUs: numbers[0], held: numbers[at + 1], heldBefore: numbers[at + 2] })
  }
  return readings
}
