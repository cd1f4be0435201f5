import type { OutputCheck } from '../job.ts'
import { readLongs } from '../longs.ts'
import { FIRST_MS, type Terms } from './terms.ts'

const MINUTE_MS = 60_000
/** Number of windows to which a record belongs. */
const WINDOWS = 5
/** The first window begins at most this many minutes before FIRST_MS. One of these minutes allows for jitter. */
const MINUTES_BEFORE = WINDOWS + 1

/**
 * Checks three things: the last count of every (term, window) is its number of records, no other window appears, and
 * counts never decrease.
 */
export function checkCounts({ count, names, term, ts }: Terms): OutputCheck {
  const firstMinute = FIRST_MS / MINUTE_MS - MINUTES_BEFORE
  let lastMinute = firstMinute
  for (const time of ts) lastMinute = Math.max(lastMinute, Math.floor(time / MINUTE_MS))
  const minutes = lastMinute - firstMinute + 1
  const wanted = new Uint32Array(names.length * minutes)
  const seen = new Uint32Array(names.length * minutes)
  for (let i = 0; i < count; i++) {
    const last = Math.floor(ts[i] / MINUTE_MS) - firstMinute
    for (let window = last - WINDOWS + 1; window <= last; window++) wanted[term[i] * minutes + window]++
  }
  const indexOf = new Map(names.map((name, index) => [name, index]))
  const fields = new Float64Array(2)
  return {
    record(buffer, keyStart, keyEnd, start, end) {
      if (!readLongs(buffer, start, end, fields)) return 'a value does not contain 2 longs'
      const name = buffer.toString('utf8', keyStart, keyEnd)
      const [windowStart, counted] = fields
      const window = windowStart / MINUTE_MS - firstMinute
      const what = `${name} in the window from ${windowStart}`
      const index = indexOf.get(name)
      const at = index === undefined || !Number.isInteger(window) || window < 0 || window >= minutes ? -1 : index * minutes + window
      if (at < 0 || wanted[at] === 0) return `${what}: the window has no records`
      if (counted > wanted[at] || counted < seen[at]) return `${what}: count ${counted} after ${seen[at]}, expected ${wanted[at]}`
      seen[at] = counted
      return undefined
    },
    missing() {
      let unfinished = 0
      for (let at = 0; at < wanted.length; at++) if (seen[at] !== wanted[at]) unfinished++
      return unfinished === 0 ? undefined : `${unfinished} windows lack their final count`
    },
  }
}
