import type { Registry } from 'prom-client'
import { type Receipt, TransportError } from '../../kafka/transport.ts'
import { CodecError } from '../../schemas/codec.ts'
import type { FactLog } from './fact-log.ts'
import type { Logger } from './logging.ts'
import { counter, gauge } from './metrics.ts'
import { spacedWarning } from './spaced-warning.ts'

/**
 * Sends facts that no request waits for. No fact is written twice, and facts with the same key stay in order. Buffers
 * facts that cannot be sent yet, up to a limit. Drops and counts facts beyond the limit, and facts that Kafka rejects
 * permanently.
 */
export interface FactBuffer<K, V> {
  /**
   * Buffers a fact without waiting for Kafka. Returns false if the fact was dropped, usually because the buffer is
   * full.
   */
  offer(key: K, value: V): boolean
  readonly size: number
  /** Waits until all facts are sent, or until the time limit. */
  close(timeoutMs: number): Promise<void>
}

export interface FactBufferOptions<K, V> {
  /** Opens the log. Called for the first fact, and again after each failed attempt. */
  readonly open: () => Promise<FactLog<K, V>>
  readonly capacity: number
  readonly registry: Registry
  /** Prefix of the metrics' names. */
  readonly name: string
  readonly log: Logger
}

/** First and longest pause between attempts to open the log. */
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 2_000
/**
 * Minimum interval between warnings about dropped facts. Without an interval, a full buffer could cause tens of
 * thousands of warnings per second.
 */
const WARNING_EVERY_MS = 10_000

export function factBuffer<K, V>({ open, capacity, registry, name, log }: FactBufferOptions<K, V>): FactBuffer<K, V> {
  let facts: FactLog<K, V> | undefined
  /** Facts that were offered before the log was open, oldest first. */
  let early: (readonly [K, V])[] = []
  let pending = 0
  let isOpening = false
  let failures = 0
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let onDrained: (() => void) | undefined
  const full = spacedWarning({
    everyMs: WARNING_EVERY_MS,
    say: (count) => log.warn({ buffer: name, count, waiting: size() }, 'facts_dropped'),
  })
  let refusal = ''
  const refused = spacedWarning({
    everyMs: WARNING_EVERY_MS,
    say: (count) => log.error({ buffer: name, count, reason: refusal }, 'facts_refused'),
  })
  const sent = counter(registry, `${name}_sent_total`, 'Facts that Kafka acknowledged')
  const dropped = counter(registry, `${name}_dropped_total`, 'Facts that were lost, mostly because the buffer was full')
  gauge(registry, `${name}_waiting`, 'Facts waiting to be sent', size)

  function size(): number {
    return early.length + pending
  }

  /** All facts of this buffer share one receipt, so that the log keeps a count instead of an object per fact. */
  const receipt: Receipt = {
    settled(count, error) {
      pending -= count
      if (error === undefined) sent.inc(count)
      // These facts are not logged again, because `close` has already logged their number.
      else if (isClosed) dropped.inc(count)
      else drop(count, error)
      if (size() === 0) onDrained?.()
    },
  }

  function drop(count: number, { message }: Error): void {
    dropped.inc(count)
    refusal = message
    for (let fact = 0; fact < count; fact++) refused.happened()
  }

  /** @returns false if the fact was dropped */
  function append(to: FactLog<K, V>, key: K, value: V): boolean {
    try {
      to.append(key, value, receipt)
      pending++
      return true
    } catch (error) {
      if (error instanceof TransportError && error.code === 'BUFFER_FULL') {
        dropped.inc()
        full.happened()
      } else if (error instanceof TransportError) drop(1, error)
      else if (error instanceof CodecError) {
        // Only a bug can produce a fact that cannot be encoded.
        dropped.inc()
        log.error({ buffer: name, reason: error.message }, 'fact_cannot_be_encoded')
      } else throw error
      return false
    }
  }

  async function openLog(): Promise<void> {
    timer = undefined
    if (isOpening || isClosed || facts !== undefined) return
    isOpening = true
    try {
      const opened = await open()
      facts = opened
      const waiting = early
      early = []
      for (const [key, value] of waiting) append(opened, key, value)
      if (failures > 0) log.info({ buffer: name, waiting: size() }, 'facts_go_on')
      if (size() === 0) onDrained?.()
    } catch (error) {
      if (failures++ === 0) log.warn({ buffer: name, reason: (error as Error).message }, 'facts_wait')
      timer = setTimeout(openLog, Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS))
    } finally {
      isOpening = false
    }
  }

  return {
    offer(key, value) {
      if (size() >= capacity) {
        dropped.inc()
        full.happened()
        return false
      }
      if (facts !== undefined) return append(facts, key, value)
      early.push([key, value])
      if (timer === undefined) void openLog()
      return true
    },
    get size() {
      return size()
    },
    async close(timeoutMs) {
      let deadline: NodeJS.Timeout | undefined
      if (size() > 0)
        await new Promise<void>((resolve) => {
          onDrained = resolve
          deadline = setTimeout(resolve, timeoutMs)
        })
      isClosed = true
      clearTimeout(deadline)
      clearTimeout(timer)
      full.flush()
      refused.flush()
      if (size() > 0) log.warn({ buffer: name, lost: size() }, 'facts_lost')
    },
  }
}
