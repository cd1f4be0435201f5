import { Counter, Gauge, type Registry } from 'prom-client'
import { CodecError } from '../../schemas/codec.ts'
import { type FactLog, FactsLostError } from './fact-log.ts'
import type { Logger } from './logging.ts'
import { spacedWarning } from './spaced-warning.ts'

/** Facts that nobody waits for: what cannot be sent is kept for a while, up to a bound, and then dropped and counted. */
export interface FactBuffer<K, V> {
  /** Costs next to nothing, whatever Kafka does. False: dropped, because the buffer is full. */
  offer(key: K, value: V): boolean
  readonly size: number
  /** Sends what is there, as far as that goes within the time. */
  close(timeoutMs: number): Promise<void>
}

export interface FactBufferOptions<K, V> {
  /** Asked when there is a first fact, and again when it rejects. */
  readonly open: () => Promise<FactLog<K, V>>
  readonly capacity: number
  readonly registry: Registry
  /** In the names of the metrics: `clicks`. */
  readonly name: string
  readonly log: Logger
}

/** Together, for one request to each broker: nobody waits for them, and twenty requests a second cost Kafka and its readers little. */
const LINGER_MS = 50
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
const CLOSE_LOOK_MS = 10
/** Between two lines about what was dropped: a full buffer drops tens of thousands a second. */
const DROPS_TOLD_MS = 10_000

export function factBuffer<K, V>({ open, capacity, registry, name, log }: FactBufferOptions<K, V>): FactBuffer<K, V> {
  let facts: FactLog<K, V> | undefined
  /** Until Kafka has answered for the first time: the oldest first. */
  let early: (readonly [K, V])[] = []
  let timer: NodeJS.Timeout | undefined
  let sending = false
  let failures = 0
  const full = spacedWarning({
    everyMs: DROPS_TOLD_MS,
    say: (count) => log.warn({ buffer: name, count, waiting: size() }, 'facts_dropped'),
  })
  const sent = counter('sent', 'Facts that Kafka has acknowledged')
  const dropped = counter('dropped', 'Facts that were lost, mostly because the buffer was full')
  new Gauge({
    name: `${name}_waiting`,
    help: 'Facts that wait to be sent',
    registers: [registry],
    collect() {
      this.set(size())
    },
  })

  function counter(what: string, help: string): Counter {
    return new Counter({ name: `${name}_${what}_total`, help, registers: [registry] })
  }

  function later(ms: number): void {
    timer ??= setTimeout(flush, ms)
  }

  function size(): number {
    return early.length + (facts?.pending ?? 0)
  }

  function append(to: FactLog<K, V>, key: K, value: V): void {
    try {
      to.append(key, value)
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      // A bug.
      dropped.inc()
      log.error({ buffer: name, reason: error.message }, 'fact_cannot_be_encoded')
    }
  }

  /** One request at a time: facts of one key keep their order, and a broker that is away is asked by one. */
  async function flush(): Promise<void> {
    timer = undefined
    if (sending || size() === 0) return
    sending = true
    try {
      facts ??= await open()
      for (const [key, value] of early) append(facts, key, value)
      early = []
      sent.inc(await facts.send())
      if (failures > 0) log.info({ buffer: name, waiting: size() }, 'facts_go_on')
      failures = 0
    } catch (error) {
      if (error instanceof FactsLostError) {
        dropped.inc(error.count)
        log.error({ buffer: name, count: error.count, reason: error.message }, 'facts_lost')
      } else if (failures++ === 0) log.warn({ buffer: name, reason: (error as Error).message }, 'facts_wait')
    } finally {
      sending = false
    }
    if (failures > 0) later(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS))
    else if (size() > 0) later(LINGER_MS)
  }

  return {
    offer(key, value) {
      if (size() >= capacity) {
        dropped.inc()
        full.happened()
        return false
      }
      if (facts === undefined) early.push([key, value])
      else append(facts, key, value)
      if (!sending && failures === 0) later(LINGER_MS)
      return true
    },
    get size() {
      return size()
    },
    async close(timeoutMs) {
      const until = performance.now() + timeoutMs
      while (size() > 0 && performance.now() < until) {
        if (failures === 0) void flush()
        await new Promise((resolve) => setTimeout(resolve, CLOSE_LOOK_MS))
      }
      clearTimeout(timer)
      full.flush()
      if (size() > 0) log.warn({ buffer: name, lost: size() }, 'facts_lost')
    },
  }
}
