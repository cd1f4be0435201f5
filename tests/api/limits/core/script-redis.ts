import { setTimeout as delay } from 'node:timers/promises'
import type { Redis } from 'ioredis'

const MINUTE_US = 60_000_000
/**
 * The fixed time of the fake Redis, in µs. It is the middle of the minute in which the test process started, so a
 * window of a minute does not end soon after a reply.
 */
export const NOW_US = Math.floor((Date.now() * 1_000) / MINUTE_US) * MINUTE_US + MINUTE_US / 2
const NUMBERS_PER_KIND = 5
const GIVE_BACK = 3
const UP_TO = 2

interface Kind {
  readonly mode: number
  readonly limit: number
  readonly units: number
}

/**
 * Creates a fake Redis that implements the script for windows that never end. A test can make the fake fail or reply
 * late.
 */
export function scriptRedis() {
  const counts = new Map<string, number>()
  const state = {
    error: undefined as Error | undefined,
    /** Returns the delay in ms of the reply to a script. Scripts are numbered from 0. */
    lateMs: (_script: number) => 0,
    scripts: 0,
  }

  function decide(keys: readonly string[], args: readonly number[]): number[] {
    const kinds = Array.from({ length: args[0] }, (_, at): Kind => {
      const [mode, limit, , , units] = args.slice(1 + NUMBERS_PER_KIND * at)
      return { mode, limit, units }
    })
    const calls = args.slice(1 + NUMBERS_PER_KIND * args[0])
    const answer = [NOW_US]
    let slot = 0
    for (let at = 0; at < calls.length; ) {
      const asks = calls[at] < 0 ? -calls[at++] : 1
      const before = new Map(counts)
      let isRefused = false
      for (let ask = 0; ask < asks; ask++) {
        const key = keys[slot++]
        const { mode, limit, units } = kinds[calls[at++] - 1]
        const held = counts.get(key) ?? 0
        const room = Math.max(0, limit - held)
        const taken = mode === GIVE_BACK ? 0 : mode === UP_TO ? Math.min(units, room) : units > room ? 0 : units
        if (mode === 0 && taken < units) isRefused = true
        counts.set(key, mode === GIVE_BACK ? held - units : held + taken)
        answer.push(taken, held, 0)
      }
      if (isRefused) for (const key of keys) counts.set(key, before.get(key) ?? 0)
    }
    return answer
  }

  const redis = {
    async evalsha(_sha: string, keyCount: number, ...rest: (string | number)[]) {
      if (state.error !== undefined) throw state.error
      const lateMs = state.lateMs(state.scripts++)
      const answer = decide(rest.slice(0, keyCount).map(String), rest.slice(keyCount).map(Number))
      if (lateMs > 0) await delay(lateMs)
      return answer
    },
  }
  return { redis: redis as unknown as Redis, counts, state }
}
