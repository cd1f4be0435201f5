import keySlot from 'cluster-key-slot'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { addressRanges } from '../../../../api/kit/client-address.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { connectViewRedis } from '../../../../api/kit/redis.ts'
import type { Counter, CounterStore, FailureReason } from '../../../../api/limits/core/counter.ts'
import { counterStore } from '../../../../api/limits/core/counter-store.ts'
import { limitedPaths } from '../../../../api/limits/core/limited-paths.ts'
import { limiter } from '../../../../api/limits/core/limiter.ts'
import { compileRules } from '../../../../api/limits/core/matching.ts'
import { memoryWatch } from '../../../../api/limits/core/memory-watch.ts'
import { connectLimiterRedis } from '../../../../api/limits/core/redis-connection.ts'
import { requestLimits } from '../../../../api/limits/core/request-limits.ts'
import { ruleOf } from '../../../../schemas/limit-rule.ts'
import { privateRedis, uniqueName } from '../../../stack/index.ts'
import { suspend } from '../../../stack/suspend.ts'
import { privateRedisCluster } from '../../../state/views/redis-cluster.ts'
import { holdingProxy } from './delay-proxy.ts'

const SOON = { timeout: 30_000, interval: 10 }
/** How long the test blocks this process: longer than Redis needs to reply on any machine. */
const BLOCKED_MS = 1_500
const CLUSTER_MASTERS = 3
/** How long a store waits for Redis in tests that expect an answer. It is long enough for a decision on any machine. */
const PATIENT_MS = 20_000
/** Memory that is free for counters in Redis. Separate counters for all networks in the test would not fit. */
const ROOM_BYTES = 4 * 1_024 * 1_024
const ROUNDS = 60
const NETWORKS_PER_ROUND = 1_000
const SLOTS = 16_384

function counter(tag = uniqueName('caller')): Counter {
  return { tag, key: `limits:{${tag}}:rule`, limit: { limit: 1, windowSeconds: 3_600, burst: 0 } }
}

function openStore(url: string, options: { cluster?: boolean; timeoutMs?: number } = {}) {
  const redis = connectLimiterRedis({ url, cluster: options.cluster === true })
  onTestFinished(() => redis.close())
  const failures: FailureReason[] = []
  const store = counterStore({
    scripts: redis.scripts,
    monotonic: () => performance.now(),
    timeoutMs: options.timeoutMs,
    onFailure: (reason) => void failures.push(reason),
  })
  return { store, failures }
}

async function ask(store: CounterStore, at: Counter = counter()): Promise<'allowed' | 'refused' | FailureReason> {
  const outcome = await store.decide([{ mode: 'hard', counter: at, units: 1 }])
  if ('undecided' in outcome) return outcome.undecided
  return outcome[0].taken === 1 ? 'allowed' : 'refused'
}

/** Waits until limits are enforced, that is, until a request above a limit of one is refused. */
async function untilLimiting(store: CounterStore, at = counter()): Promise<void> {
  await expect.poll(() => ask(store, at), SOON).toBe('refused')
}

async function untilSeen(
  store: CounterStore,
  failures: readonly FailureReason[],
  reason: FailureReason,
  newCounter: () => Counter = counter,
): Promise<void> {
  async function isSeen(): Promise<boolean> {
    await ask(store, newCounter())
    return failures.includes(reason)
  }
  await expect.poll(isSeen, SOON).toBe(true)
}

async function untilFailing(store: CounterStore, failures: readonly FailureReason[], reason: FailureReason): Promise<void> {
  await untilSeen(store, failures, reason)
  // When the circuit is open, the store responds without asking Redis.
  await expect.poll(() => store.decide([{ mode: 'hard', counter: counter(), units: 1 }]), SOON).toEqual({ undecided: 'circuit_open' })
}

async function pidOf(redis: Redis): Promise<number> {
  return Number(/process_id:(\d+)/.exec(await redis.info('server'))![1])
}

test('limits are enforced whenever Redis runs, and are not enforced while it is down', async () => {
  const redis = await privateRedis()
  await redis.kill()
  const { store, failures } = openStore(redis.address)
  await untilFailing(store, failures, 'unreachable')
  await redis.start()
  await untilLimiting(store)
  failures.length = 0
  await redis.kill()
  await untilFailing(store, failures, 'unreachable')
  await redis.start()
  await untilLimiting(store)
})

test('requests pass while Redis is frozen (SIGSTOP), and limits are enforced again afterwards', async () => {
  const redis = await privateRedis()
  const { store, failures } = openStore(redis.address)
  await untilLimiting(store)
  await suspend(redis.pid!)
  try {
    await untilFailing(store, failures, 'timeout')
  } finally {
    process.kill(redis.pid!, 'SIGCONT')
  }
  await untilLimiting(store)
})

test('while replies arrive too late, requests pass, and limits are enforced again afterwards', async () => {
  const redis = await privateRedis()
  const proxy = await holdingProxy(redis.address)
  const { store, failures } = openStore(proxy.url)
  await untilLimiting(store)
  proxy.hold()
  await untilFailing(store, failures, 'timeout')
  proxy.release()
  await untilLimiting(store)
})

test('a reply that is waiting in the socket counts, even if this process is too busy to read it in time', async () => {
  const redis = await privateRedis()
  const { store } = openStore(redis.address)
  await untilLimiting(store)
  const asked = ask(store)
  // Blocks this process until long after the timeout. This callback runs after the one that sends the request.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS))
  expect(await asked).toBe('allowed')
})

test('limits are enforced again when Redis has become a read-only replica and then a master again', async () => {
  const redis = await privateRedis()
  const admin = new Redis(redis.address)
  onTestFinished(() => admin.disconnect())
  const { store, failures } = openStore(redis.address)
  await untilLimiting(store)
  await admin.replicaof('127.0.0.1', 1)
  await admin.config('SET', 'replica-serve-stale-data', 'yes')
  await untilFailing(store, failures, 'error_reply')
  await admin.replicaof('NO', 'ONE')
  await untilLimiting(store)
})

test('limits are enforced again after Redis has run out of memory (OOM)', async () => {
  const redis = await privateRedis()
  const admin = new Redis(redis.address)
  onTestFinished(() => admin.disconnect())
  const { store, failures } = openStore(redis.address)
  await untilLimiting(store)
  await admin.config('SET', 'maxmemory', '1')
  await untilFailing(store, failures, 'error_reply')
  await admin.config('SET', 'maxmemory', '0')
  await untilLimiting(store)
})

test('a caller that rotates its IPv6 networks does not fill Redis, even with a long window, and limits are still enforced', async () => {
  const redis = await privateRedis()
  const admin = new Redis(redis.address)
  onTestFinished(() => admin.disconnect())
  const connection = connectLimiterRedis({ url: redis.address, cluster: false })
  onTestFinished(() => connection.close())
  const failures: FailureReason[] = []
  const monotonic = () => performance.now()
  const store = counterStore({
    scripts: connection.scripts,
    monotonic,
    timeoutMs: PATIENT_MS,
    onFailure: (reason) => failures.push(reason),
  })
  await untilLimiting(store)
  failures.length = 0
  const memory = memoryWatch({ read: connection.usedMemory, monotonic, onChange: () => undefined })
  const table = compileRules([ruleOf({ rule_id: 'yearly', endpoint_pattern: '*', limit_count: 3, window_seconds: 31_536_000 })])
  const { admit } = requestLimits({
    limiter: limiter({ counters: store, rules: () => table }),
    clients: { find: () => undefined },
    trusted: addressRanges([]),
    paths: limitedPaths(['/*']),
    isMemoryShort: () => memory.isShort,
  })
  const asked = { method: 'GET', path: '/', apiKey: undefined, forwardedFor: undefined, userId: undefined, scopes: new Set<string>() }
  const from = (remote: string) => admit({ ...asked, remote })
  const used = Number(/^used_memory:(\d+)/m.exec(await admin.info('memory'))![1])
  await admin.config('SET', 'maxmemory', String(used + ROOM_BYTES))
  for (let request = 0; request < 3; request++) expect((await from('198.51.100.1')).refusal).toBeUndefined()

  for (let round = 0; round < ROUNDS; round++) {
    const networks = Array.from({ length: NETWORKS_PER_ROUND }, (_, index) => (round * NETWORKS_PER_ROUND + index).toString(16))
    await Promise.all(networks.map((network) => from(`2001:db8:1:${network}::1`)))
    await memory.ratio()
  }
  expect(memory.isShort).toBe(true)
  expect(failures).toEqual([])
  // There are fewer counters than networks, because networks were combined into wider ones.
  expect(await admin.dbsize()).toBeLessThan(ROUNDS * NETWORKS_PER_ROUND * 0.75)
  expect((await from('198.51.100.1')).refusal?.definition.status).toBe(429)
})

test('an API reports a Redis server that removes keys when its memory is full', async () => {
  const redis = await privateRedis()
  const admin = new Redis(redis.address)
  onTestFinished(() => admin.disconnect())
  await admin.config('SET', 'maxmemory', '100mb')
  async function reported(policy: string) {
    await admin.config('SET', 'maxmemory-policy', policy)
    const lines: Record<string, unknown>[] = []
    const log = createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
    const views = connectViewRedis({ url: redis.address, cluster: false, log, monotonic: () => performance.now() })
    onTestFinished(() => views.close())
    return { views, events: () => lines.map(({ event }) => event) }
  }
  const evicting = await reported('allkeys-lru')
  await expect.poll(evicting.events, SOON).toEqual(['redis_ready', 'redis_evicts_keys'])
  expect(await evicting.views.evictionProbe.check()).toContain('Set noeviction')
  const safe = await reported('noeviction')
  await expect.poll(safe.events, SOON).toEqual(['redis_ready'])
  expect(await safe.views.evictionProbe.check()).toBeUndefined()
})

test('while a node of a Cluster does not respond, the other nodes still decide', async () => {
  const url = await privateRedisCluster(CLUSTER_MASTERS)
  const { store, failures } = openStore(url, { cluster: true })
  await untilLimiting(store)
  const admin = new Redis(url)
  onTestFinished(() => admin.disconnect())
  await admin.config('SET', 'cluster-require-full-coverage', 'no')
  const [, port] = /127\.0\.0\.1:(\d+)@\d+ master/.exec(String(await admin.cluster('NODES')).replaceAll(/.*myself.*/g, ''))!
  const other = new Redis(Number(port))
  onTestFinished(() => other.disconnect())
  other.on('error', () => undefined)
  const pid = await pidOf(other)
  await suspend(pid)
  try {
    await untilSeen(store, failures, 'timeout')
    // The counters are spread over the nodes. The store still decides with the counters on responsive nodes, and skips
    // those on the unresponsive node.
    await expect.poll(() => ask(store), SOON).toBe('allowed')
    await expect.poll(() => ask(store), SOON).toBe('circuit_open')
  } finally {
    process.kill(pid, 'SIGCONT')
  }
})

test('if a master of a Cluster is killed, requests pass, and then limits are enforced with the same counts on the replica', async () => {
  const url = await privateRedisCluster(CLUSTER_MASTERS, { hasReplicas: true })
  const { store, failures } = openStore(url, { cluster: true })
  const master = new Redis(url)
  onTestFinished(() => master.disconnect())
  master.on('error', () => undefined)
  const before = counterOfFirstMaster()
  await untilLimiting(store, before)
  // Waits until the replica has everything that was written before.
  await master.set(`{${before.tag}}`, '')
  await master.wait(1, 0)
  process.kill(await pidOf(master), 'SIGKILL')
  await untilSeen(store, failures, 'unreachable', counterOfFirstMaster)
  await untilLimiting(store, counterOfFirstMaster())
  await expect.poll(() => ask(store, before), SOON).toBe('refused')
})

/** Returns a counter that is on the first master, which owns the first third of the slots. */
function counterOfFirstMaster(): Counter {
  for (;;) {
    const tag = uniqueName('caller')
    if (keySlot(tag) < Math.floor(SLOTS / CLUSTER_MASTERS)) return counter(tag)
  }
}
