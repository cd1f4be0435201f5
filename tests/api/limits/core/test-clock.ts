import type { Redis } from 'ioredis'
import type { ScriptRunner } from '../../../../api/limits/core/counter.ts'
import { DECIDE_SCRIPT } from '../../../../api/limits/core/script.ts'

const CLOCK_KEY = 'limits-test-clock'
const US_PER_SECOND = 1_000_000

/** Runs the real script on a real Redis with a TIME that the test sets, so that tests can hit window edges exactly. */
export function clockedScripts(redis: Redis, name: string) {
  const clock = `${CLOCK_KEY}:${name}`
  const script = DECIDE_SCRIPT.replace("redis.call('TIME')", `redis.call('HMGET', '${clock}', 's', 'us')`)
  if (script === DECIDE_SCRIPT) throw new Error('the script does not call TIME')
  const scripts: ScriptRunner = {
    run: (keys, args) => redis.eval(script, keys.length, ...keys, ...args) as Promise<number[]>,
    groupOf: () => '',
    nodeOf: () => '',
  }
  return {
    scripts,
    async setTime(us: number) {
      await redis.hset(clock, 's', Math.floor(us / US_PER_SECOND), 'us', us % US_PER_SECOND)
    },
  }
}
