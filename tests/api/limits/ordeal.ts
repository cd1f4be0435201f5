import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { uniqueName } from '../../stack/index.ts'
import type { ApiProcess } from '../api-process.ts'
import { type LimitsSystem, send } from './system.ts'

const CLIENTS_PER_API = 3
/** Upper bound for the random delay before a fault and for the random duration of a fault. */
const WITHIN_MS = 500
const LONGEST_DELAY_MS = 50
const SEEN = { timeoutMs: 60_000, intervalMs: 10 }
const LONG_WINDOW = 86_400
/** Limit for the callers that produce load. It is so high that instances lease units. */
const LOAD_LIMIT = { limit: 2_000, window_seconds: 2 }
/**
 * Limit for the callers whose requests the test counts after a fault. It is too low for leases, so the counts are
 * exact.
 */
const EXACT_LIMIT = 20

export const REDIS_FAULTS = ['killed', 'stopped', 'emptied', 'slow'] as const
export type RedisFault = (typeof REDIS_FAULTS)[number]

export interface Ordeal {
  /** Makes Redis fail under load, restores it, and checks that limits apply again. */
  suffer(fault: RedisFault): Promise<void>
  /**
   * Stops the load.
   * @returns every unexpected response, failed request and violation of a limit, and the number of responses
   */
  finish(): Promise<{ readonly wrong: readonly string[]; readonly answers: number }>
}

/**
 * Puts load on real routes whose rules have counters in Redis. `suffer` makes Redis fail under this load.
 * @param random returns numbers from 0 to 1
 */
export async function limitsOrdeal(system: LimitsSystem, random: () => number): Promise<Ordeal> {
  const { apis, redis, proxy, token } = system
  const [admin, user, gateway] = await Promise.all([token('1', 'admin'), token('42'), token('gateway', 'internal')])
  const [loaded, exact] = [`/${uniqueName('loaded')}`, `/${uniqueName('exact')}`]
  for (const rule of [
    { rule_id: uniqueName('rule'), match: { endpoint_pattern: `/api/v1${loaded}` }, ...LOAD_LIMIT },
    { rule_id: uniqueName('rule'), match: { endpoint_pattern: '/api/v1/rate-limits/*', key: ['user'] }, ...LOAD_LIMIT },
    { rule_id: uniqueName('rule'), match: { endpoint_pattern: exact }, limit: EXACT_LIMIT, window_seconds: LONG_WINDOW },
  ]) {
    const { status, body } = await send(apis[0], 'POST', '/rate-limits/rules', admin, rule)
    if (status !== 201) throw new Error(`creating a rule returned status ${status}: ${JSON.stringify(body)}`)
  }
  const check = (api: ApiProcess, caller: string, path: string) =>
    send(api, 'POST', '/rate-limits/check', gateway, { method: 'GET', path, user_id: caller })
  const routes: readonly { readonly name: string; readonly expected: readonly number[]; ask(api: ApiProcess): ReturnType<typeof send> }[] =
    [
      { name: 'an unknown path', expected: [404, 429], ask: (api) => send(api, 'GET', loaded, user) },
      { name: 'rules, by a user', expected: [403, 429], ask: (api) => send(api, 'GET', '/rate-limits/rules', user) },
      { name: 'rules, by an administrator', expected: [200], ask: (api) => send(api, 'GET', '/rate-limits/rules', admin) },
      { name: 'a check', expected: [200], ask: (api) => check(api, 'loaded', `/api/v1${loaded}`) },
    ]
  const wrong: string[] = []
  const load = { isRunning: true, answers: 0 }
  let rounds = 0

  async function client(api: ApiProcess): Promise<void> {
    for (let turn = 0; load.isRunning; turn++) {
      const { name, expected, ask } = routes[turn % routes.length]
      try {
        const { status, body } = await ask(api)
        load.answers++
        if (!expected.includes(status)) wrong.push(`${name}: ${status} ${JSON.stringify(body)}`)
      } catch (error) {
        wrong.push(`${name}: ${(error as Error).message}`)
      }
    }
  }
  const clients = apis.flatMap((api) => Array.from({ length: CLIENTS_PER_API }, () => client(api)))

  /** Returns whether the fault has taken effect, that is, whether a new caller's request is decided without Redis. */
  async function isFelt(): Promise<boolean> {
    return (await check(apis[0], uniqueName('anybody'), exact)).body.reason === 'limiter_unavailable'
  }

  const moment = () => delay(random() * WITHIN_MS)
  const INFLICTED: Readonly<Record<RedisFault, () => Promise<void>>> = {
    async killed() {
      await redis.kill()
      await waitUntil(isFelt, { what: 'a request without Redis', ...SEEN })
      await moment()
      await redis.start()
    },
    async stopped() {
      const pid = redis.pid as number
      process.kill(pid, 'SIGSTOP')
      try {
        await waitUntil(isFelt, { what: 'a request while Redis is frozen', ...SEEN })
        await moment()
      } finally {
        process.kill(pid, 'SIGCONT')
      }
    },
    async emptied() {
      const client = new Redis(redis.address)
      try {
        await client.flushall()
      } finally {
        client.disconnect()
      }
    },
    async slow() {
      proxy.delayMs = 1 + Math.round(random() * LONGEST_DELAY_MS)
      await moment()
      proxy.delayMs = 0
    },
  }

  /**
   * Checks that all nodes together admit no more requests of a new caller than the rule allows, and refuse none below
   * the limit. Requests that a node allowed with its own counts do not count as admitted, because Redis may not have
   * counted them.
   */
  async function limitsHold(): Promise<void> {
    const caller = `exact-${++rounds}`
    let admitted = 0
    let allowed = 0
    let node = 0
    await waitUntil(
      async () => {
        const { reason } = (await check(apis[node++ % apis.length], caller, exact)).body
        if (reason === 'within_limits') admitted++
        if (reason !== 'over_limit') allowed++
        return reason === 'over_limit'
      },
      { what: 'a refusal', timeoutMs: SEEN.timeoutMs, intervalMs: 1 },
    )
    if (admitted > EXACT_LIMIT) wrong.push(`${admitted} requests were admitted, above the limit of ${EXACT_LIMIT}`)
    if (allowed < EXACT_LIMIT) wrong.push(`only ${allowed} requests were allowed, below the limit of ${EXACT_LIMIT}`)
  }

  await limitsHold()
  return {
    async suffer(fault) {
      await moment()
      await INFLICTED[fault]()
      await limitsHold()
    },
    async finish() {
      load.isRunning = false
      await Promise.all(clients)
      return { wrong, answers: load.answers }
    },
  }
}
