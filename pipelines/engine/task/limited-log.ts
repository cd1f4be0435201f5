import type { Log, Runtime } from '../../../runtime/runtime.ts'

/**
 * Time between two log lines about the same subject. It is short enough that failures are noticed, and long enough that
 * a topic full of bad records does not fill a disk with log lines.
 */
const EVERY_MS = 10_000

/**
 * Logs the first event about a subject at once, and then at most one event every 10 s. The field `unlogged` contains
 * the number of events that were not logged in between.
 * @param subject what the event concerns; each combination of event and subject has a separate limit
 */
export type LimitedLog = (level: keyof Log, subject: string, fields: object, event: string) => void

export function limitedLog({ log, monotonic }: Pick<Runtime, 'log' | 'monotonic'>): LimitedLog {
  const last = new Map<string, { at: number; unlogged: number }>()

  return function logLimited(level, subject, fields, event) {
    const key = `${event} ${subject}`
    const known = last.get(key)
    const now = monotonic()
    if (known !== undefined && now - known.at < EVERY_MS) {
      known.unlogged++
      return
    }
    last.set(key, { at: now, unlogged: 0 })
    log[level]({ ...fields, unlogged: known?.unlogged ?? 0 }, event)
  }
}
