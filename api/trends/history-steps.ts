import { invalidRequest } from '../kit/errors.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Number of characters of a date in a timestamp, including the T. */
const DATE_LENGTH = 11

const STEP_MS = { '1m': MINUTE_MS, '5m': 5 * MINUTE_MS, '15m': 15 * MINUTE_MS, '1h': HOUR_MS, '1d': DAY_MS } as const

export type Resolution = keyof typeof STEP_MS
export const RESOLUTIONS = Object.keys(STEP_MS) as [Resolution, ...Resolution[]]

export const DEFAULT_RESOLUTION: Resolution = '5m'
export const DEFAULT_HOURS = 24
/** Maximum length of a history: the 90 days that the table keeps. */
export const MAX_HOURS = 2_160
/** Maximum number of steps. A series with more steps would be an export rather than a chart. */
const MAX_STEPS = 10_000

export interface Steps {
  readonly stepMs: number
  /** Start of the first step, epoch ms. */
  readonly from: number
  /** End of the current step, epoch ms. */
  readonly to: number
}

/**
 * Returns the steps of a history that covers `hours` hours, rounded up to whole steps, and ends with the current step.
 * Steps are aligned to multiples of their length in UTC. Throws `invalid_request` if there are more than MAX_STEPS.
 */
export function stepsOf(now: number, hours: number, resolution: Resolution): Steps {
  const stepMs = STEP_MS[resolution]
  const count = Math.ceil((hours * HOUR_MS) / stepMs)
  if (count > MAX_STEPS) {
    const message = `${hours} hours in steps of ${resolution} are ${count} points, but at most ${MAX_STEPS} are allowed; use fewer hours or longer steps`
    throw invalidRequest('query.resolution', message)
  }
  const to = Math.floor(now / stepMs) * stepMs + stepMs
  return { stepMs, from: to - count * stepMs, to }
}

/** Returns the volume of each step. A step without tweets has the volume 0. */
export function zeroFilled(steps: Steps, volumes: ReadonlyMap<number, number>): number[] {
  const filled: number[] = []
  for (let at = steps.from; at < steps.to; at += steps.stepMs) filled.push(volumes.get(at) ?? 0)
  return filled
}

/** The part of a timestamp after the T, for each minute of a day. */
const TIMES = Array.from({ length: DAY_MS / MINUTE_MS }, (_, minute) => new Date(minute * MINUTE_MS).toISOString().slice(DATE_LENGTH))

/**
 * Returns the JSON of all steps with their start and volume. The JSON is built as text, because creating a Date and an
 * object for each of thousands of steps would take six times as long.
 */
export function pointsJson(steps: Steps, volumes: ReadonlyMap<number, number>): string {
  let json = ''
  let day = Number.NaN
  let date = ''
  for (let at = steps.from; at < steps.to; at += steps.stepMs) {
    const ofStep = Math.floor(at / DAY_MS)
    if (ofStep !== day) {
      day = ofStep
      date = new Date(at).toISOString().slice(0, DATE_LENGTH)
    }
    json += `${json === '' ? '' : ','}{"ts":"${date}${TIMES[(at - day * DAY_MS) / MINUTE_MS]}","volume":${volumes.get(at) ?? 0}}`
  }
  return `[${json}]`
}
