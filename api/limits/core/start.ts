import { Gauge, type Registry } from 'prom-client'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import type { Transport } from '../../../kafka/transport.ts'
import type { TrustedProxies } from '../../kit/client-address.ts'
import type { KafkaFacts } from '../../kit/facts.ts'
import type { Logger } from '../../kit/logging.ts'
import type { RequestLimits } from '../../kit/rate-limits.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { CounterStore } from './counter.ts'
import { counterStore } from './counter-store.ts'
import { type FailOpenLimiter, failOpenLimiter } from './fail-open-limiter.ts'
import { type LimitedPaths, limitedPaths } from './limited-paths.ts'
import { limiter } from './limiter.ts'
import { type MemoryWatch, memoryWatch } from './memory-watch.ts'
import { ownCounts } from './own-counts.ts'
import { decisionRecords, TICK_MS } from './records.ts'
import { connectLimiterRedis } from './redis-connection.ts'
import { requestLimits } from './request-limits.ts'
import { type LimitSettings, limitSettings } from './settings.ts'
import { sweptLeases } from './swept-leases.ts'
import { limiterTelemetry } from './telemetry.ts'

export interface LimitsOptions {
  readonly redisUrl: string
  readonly redisCluster: boolean
  /** The transport of the process. Closing the rate limits does not close it. */
  readonly transport: Transport
  readonly trusted: TrustedProxies
  /** Patterns of paths that the running services declare as limited. */
  readonly limitedPaths: readonly string[]
  readonly registry: SchemaRegistry
  readonly facts: Pick<KafkaFacts, 'openLog'>
  readonly metrics: Registry
  readonly log: Logger
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
}

/** The running rate limits of a process. */
export interface RunningLimits {
  readonly requests: RequestLimits
  readonly paths: LimitedPaths
  /**
   * Decides whether requests to other gateways are allowed. The same limiter decides requests to this process.
   */
  readonly limiter: FailOpenLimiter
  readonly settings: LimitSettings
  readonly probes: readonly ReadinessProbe[]
  /** Reads counters without leases. A read may take longer than a decision about a request. */
  readonly counters: CounterStore
  /** Whether the counters' memory is almost full. */
  isMemoryShort(): boolean
  /** Resets counters in Redis and in this process. Rejects if Redis does not respond. */
  forget(keys: readonly string[]): Promise<void>
  /** Returns leased units to Redis and publishes the last records, if Redis and Kafka respond in time. */
  close(): Promise<void>
}

/** Time limit for reading counters to answer a usage request. For its caller, a slow answer is better than none. */
const LOOK_TIMEOUT_MS = 500
/** Time limit for publishing the last records. If Kafka is reachable, publishing takes less time. */
const LAST_RECORDS_MS = 1_000

export async function startLimits(options: LimitsOptions): Promise<RunningLimits> {
  const { redisUrl, redisCluster, transport, trusted, limitedPaths: declared, registry, facts, metrics, log, now, monotonic } = options
  const paths = limitedPaths(declared)
  const settings = await limitSettings({ transport, registry, log, metrics })
  const redis = connectLimiterRedis({ url: redisUrl, cluster: redisCluster })
  const memory = memoryWatch({
    read: redis.usedMemory,
    monotonic,
    onChange: (isShort, ratio) => log.warn({ used_ratio: ratio }, isShort ? 'redis_memory_short' : 'redis_memory_sufficient'),
  })
  memoryGauge(metrics, memory)
  const isMemoryShort = () => memory.isShort
  const telemetry = limiterTelemetry({ registry: metrics, log })
  const own = ownCounts({ now, monotonic })
  const store = counterStore({ scripts: redis.scripts, monotonic, own, onFailure: telemetry.failed })
  const leases = sweptLeases({ store, monotonic })
  const records = decisionRecords({ facts, registry: metrics, log, now })
  const ticking = setInterval(records.tick, TICK_MS)
  const deciding = failOpenLimiter({
    limiter: limiter({ counters: leases, rules: settings.rules, own }),
    observer: telemetry,
    monotonic,
    onDecision: records.listen,
  })

  return {
    requests: requestLimits({ limiter: deciding, clients: settings.clients, trusted, paths, isMemoryShort }),
    paths,
    limiter: deciding,
    settings,
    probes: settings.probes,
    counters: counterStore({ scripts: redis.scripts, monotonic, timeoutMs: LOOK_TIMEOUT_MS }),
    isMemoryShort,
    async forget(keys) {
      leases.forget(keys)
      own.forget(keys)
      await redis.forget(keys)
    },
    async close() {
      clearInterval(ticking)
      telemetry.flush()
      await Promise.all([leases.close(), records.close(LAST_RECORDS_MS), settings.close()])
      redis.close()
    },
  }
}

function memoryGauge(metrics: Registry, memory: MemoryWatch): void {
  new Gauge({
    name: 'redis_memory_used_ratio',
    help: 'Share of memory in use on the fullest Redis server, relative to maxmemory or, without maxmemory, to the memory of the machine',
    registers: [metrics],
    async collect() {
      const ratio = await memory.ratio()
      if (ratio !== undefined) this.set(ratio)
    },
  })
}
