import { Redis } from 'ioredis'
import { counterStore } from '../../api/limits/core/counter-store.ts'
import { withoutStore } from '../../api/limits/core/fail-open-warning.ts'
import { leasedCounters, SWEEP_MS } from '../../api/limits/core/leases.ts'
import { limiter, type Verdict } from '../../api/limits/core/limiter.ts'
import { compileRules } from '../../api/limits/core/matching.ts'
import { ownCounts } from '../../api/limits/core/own-counts.ts'
import { redisScripts } from '../../api/limits/core/redis-scripts.ts'
import { ruleOf } from '../../schemas/limit-rule.ts'
import { PeerMissingError, whereInstalled } from '../peer-missing.ts'

/** Names of the limiters under test. */
const SUBJECTS = ['millrace', 'millrace, leases', 'flexible', 'flexible, block + insurance', 'sliding log'] as const
export type SubjectName = (typeof SUBJECTS)[number]

/**
 * Returns the subjects that can run on this machine. The subjects of rate-limiter-flexible are skipped with a message
 * when it is not installed.
 */
export async function installedSubjects(): Promise<readonly SubjectName[]> {
  const peer = await whereInstalled('rate-limiter-flexible', flexibleLimiters)
  return SUBJECTS.filter((name) => peer !== undefined || !name.startsWith('flexible'))
}

async function flexibleLimiters() {
  try {
    return await import('rate-limiter-flexible')
  } catch {
    throw new PeerMissingError('it is not installed; run npm install without --omit=dev')
  }
}

export interface Subject {
  /** Returns true if the request is admitted. */
  decide(caller: string): boolean | Promise<boolean>
  /**
   * Number of requests that were decided by the process's own counts or not at all, because Redis failed or did not
   * answer in time. Always 0 for limiters other than Millrace.
   */
  readonly undecided: number
  close(): Promise<void>
}

export interface SubjectOptions {
  readonly redisUrl: string
  readonly limit: number
  readonly windowSeconds: number
  /** Timeout for responses from Redis; 5 ms in production. Limiters other than Millrace ignore it. */
  readonly timeoutMs: number
  /** Prefix of all keys of one run. */
  readonly prefix: string
}

export async function openSubject(name: SubjectName, options: SubjectOptions): Promise<Subject> {
  const redis = new Redis(options.redisUrl, { enableOfflineQueue: false, lazyConnect: true })
  redis.on('error', () => undefined)
  await redis.connect()
  switch (name) {
    case 'millrace':
      return ours(redis, options, false)
    case 'millrace, leases':
      return ours(redis, options, true)
    case 'flexible':
      return flexible(redis, options, {})
    case 'flexible, block + insurance':
      return flexible(redis, options, {
        inMemoryBlockOnConsumed: options.limit + 1,
        insuranceLimiter: new (await flexibleLimiters()).RateLimiterMemory({ points: options.limit, duration: options.windowSeconds }),
      })
    case 'sliding log':
      return slidingLog(redis, options)
  }
}

/**
 * Creates Millrace's complete limiter, which matches rules and counts in Redis.
 * @param hasLeases true to decide by leases, as in production; false to ask Redis for every decision
 */
function ours(redis: Redis, { limit, windowSeconds, prefix, timeoutMs }: SubjectOptions, hasLeases: boolean): Subject {
  const monotonic = () => performance.now()
  const own = ownCounts({ now: Date.now, monotonic })
  const asked = counterStore({ scripts: redisScripts(redis), monotonic, timeoutMs, own })
  const leased = hasLeases ? leasedCounters({ store: asked, monotonic, timeoutMs }) : undefined
  const timer = setInterval(() => leased?.sweep(), SWEEP_MS)
  const table = compileRules([
    ruleOf({ rule_id: 'bench', endpoint_pattern: '/api/v1/*', limit_count: limit, window_seconds: windowSeconds }),
  ])
  const limits = limiter({ counters: leased ?? asked, rules: () => table, own })
  const state = { undecided: 0 }

  function isAllowed(verdict: Verdict): boolean {
    if (verdict.outcome === 'undecided' || withoutStore(verdict) !== undefined) state.undecided++
    return verdict.outcome !== 'refused'
  }

  return {
    decide(caller) {
      const clientId = prefix + caller
      const verdict = limits.decide({ method: 'GET', path: '/api/v1/things', caller: { clientId, tier: 'free', ip: caller } })
      return verdict instanceof Promise ? verdict.then(isAllowed) : isAllowed(verdict)
    },
    get undecided() {
      return state.undecided
    },
    async close() {
      clearInterval(timer)
      await leased?.close()
      await redis.quit()
    },
  }
}

async function flexible(redis: Redis, { limit, windowSeconds, prefix }: SubjectOptions, extra: object): Promise<Subject> {
  const { RateLimiterRedis } = await flexibleLimiters()
  const one = new RateLimiterRedis({ storeClient: redis, points: limit, duration: windowSeconds, keyPrefix: prefix, ...extra })
  return {
    async decide(caller) {
      try {
        await one.consume(caller)
        return true
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        return false
      }
    },
    undecided: 0,
    close: async () => void (await redis.quit()),
  }
}

const SLIDING_LOG = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2] * 1000000)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
`

/** Creates an exact but expensive limiter. It stores the time of each request that was admitted in the last window. */
function slidingLog(redis: Redis, { limit, windowSeconds, prefix }: SubjectOptions): Subject {
  redis.defineCommand('slidingLog', { numberOfKeys: 1, lua: SLIDING_LOG })
  const commands = redis as Redis & { slidingLog(key: string, limit: number, seconds: number, member: string): Promise<number> }
  let sequence = 0
  return {
    decide: async (caller) => (await commands.slidingLog(prefix + caller, limit, windowSeconds, `${process.pid}-${sequence++}`)) === 1,
    undecided: 0,
    close: async () => void (await redis.quit()),
  }
}
