import { Counter, Gauge, type Registry } from 'prom-client'
import { CodecError } from '../../schemas/codec.ts'
import type { Topic } from '../../schemas/topic.ts'
import type { Facts } from './facts.ts'
import type { Logger } from './logging.ts'

/** Facts that nobody waits for: what cannot be sent is kept for a while, up to a bound, and then dropped and counted. */
export interface FactBuffer<K, V> {
  /** Costs next to nothing, whatever Kafka does. False: dropped, because the buffer is full. */
  offer(key: K, value: V): boolean
  readonly size: number
  /** Sends what is there, as far as that goes within the time. */
  close(timeoutMs: number): Promise<void>
}

export interface FactBufferOptions<K, V> {
  readonly topic: Topic<K, V>
  readonly facts: Pick<Facts, 'publishAll'>
  readonly capacity: number
  readonly registry: Registry
  /** In the names of the metrics: `clicks`. */
  readonly name: string
  readonly log: Logger
}

/** Together, for one request: at 10,000 a second some 200. */
const LINGER_MS = 20
const MAX_BATCH = 1_000
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
const CLOSE_LOOK_MS = 10

export function factBuffer<K, V>({ topic, facts, capacity, registry, name, log }: FactBufferOptions<K, V>): FactBuffer<K, V> {
  /** The oldest first; the batch under way is taken off when it is acknowledged. */
  let waiting: (readonly [K, V])[] = []
  let timer: NodeJS.Timeout | undefined
  let sending = false
  let failures = 0
  const sent = counter('sent', 'Facts that Kafka has acknowledged')
  const dropped = counter('dropped', 'Facts that were lost, mostly because the buffer was full')
  new Gauge({
    name: `${name}_waiting`,
    help: 'Facts that wait to be sent',
    registers: [registry],
    collect() {
      this.set(waiting.length)
    },
  })

  function counter(what: string, help: string): Counter {
    return new Counter({ name: `${name}_${what}_total`, help, registers: [registry] })
  }

  function later(ms: number): void {
    timer ??= setTimeout(flush, ms)
  }

  /** A bug: such facts would be in the way for ever. */
  function giveUp(count: number, error: CodecError): void {
    waiting = waiting.slice(count)
    dropped.inc(count)
    log.error({ buffer: name, count, reason: error.message }, 'facts_cannot_be_encoded')
  }

  /** One request at a time: facts of one key keep their order, and a broker that is away is asked by one. */
  async function flush(): Promise<void> {
    timer = undefined
    if (sending || waiting.length === 0) return
    sending = true
    const batch = waiting.slice(0, MAX_BATCH)
    try {
      await facts.publishAll(topic, batch)
      waiting = waiting.slice(batch.length)
      sent.inc(batch.length)
      if (failures > 0) log.info({ buffer: name, waiting: waiting.length }, 'facts_go_on')
      failures = 0
    } catch (error) {
      if (error instanceof CodecError) giveUp(batch.length, error)
      else if (failures++ === 0) log.warn({ buffer: name, reason: (error as Error).message }, 'facts_wait')
    } finally {
      sending = false
    }
    if (failures > 0) later(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS))
    else if (waiting.length > 0) later(waiting.length >= MAX_BATCH ? 0 : LINGER_MS)
  }

  return {
    offer(key, value) {
      if (waiting.length >= capacity) {
        dropped.inc()
        return false
      }
      waiting.push([key, value])
      if (!sending && failures === 0) later(LINGER_MS)
      return true
    },
    get size() {
      return waiting.length
    },
    async close(timeoutMs) {
      const until = performance.now() + timeoutMs
      while (waiting.length > 0 && performance.now() < until) {
        if (failures === 0) void flush()
        await new Promise((resolve) => setTimeout(resolve, CLOSE_LOOK_MS))
      }
      clearTimeout(timer)
      if (waiting.length > 0) log.warn({ buffer: name, lost: waiting.length }, 'facts_lost')
    },
  }
}
