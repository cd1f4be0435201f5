import { murmur2 } from '../../../../kafka/partitioner.ts'
import { type PublishAppender, type Publisher, type Transport, TransportError } from '../../../../kafka/transport.ts'
import { endsWithin } from '../../../../runtime/ends-within.ts'
import type { Runtime } from '../../../../runtime/runtime.ts'
import type { SinkDeadLetter, SinkDeadLetters } from '../dead-letters.ts'
import { isPassing } from '../passing.ts'
import type { QueuedRecord } from '../queue.ts'
import { countOne, type DeliveryCounts } from './counts.ts'
import type { DeliveryOutcome, DeliveryTarget } from './delivery.ts'
import { originOf, type RetryState, retryHeaders } from './retry-record.ts'
import { planRetry, type RetryPlan, retryPartition } from './retry-schedule.ts'

export interface CourierDeps {
  readonly target: DeliveryTarget
  readonly transport: Transport
  readonly retryTopic: string
  /** Number of partitions of the retry topic. */
  retryPartitions(): number
  readonly deadLetters: SinkDeadLetters | undefined
  readonly counts: DeliveryCounts
  readonly runtime: Pick<Runtime, 'now' | 'random' | 'sleep' | 'log'>
}

/** A record to deliver. */
export interface Attempt {
  readonly record: QueuedRecord
  /** The earlier attempts to deliver this record, all of which failed; undefined before the first attempt. */
  readonly retry: RetryState | undefined
}

/**
 * Delivers a record to its receiver. If the delivery fails, moves the record to the retry topic or the dead letters.
 */
export interface Courier {
  readonly name: string
  /**
   * Delivers or moves one record.
   * @param release called when the attempt has ended, to free the slot of the delivery
   * @param closing fires when the sink begins to give up the partition
   * @returns `abandoned` if the delivery failed and the record could not be moved before the partition had to be given
   * up
   */
  deliver(attempt: Attempt, release: () => void, closing: AbortSignal): Promise<'done' | 'abandoned'>
  /** Stores an undecodable record as a dead letter, if the sink stores dead letters. */
  setAside(bad: SinkDeadLetter, closing: AbortSignal): Promise<'done' | 'abandoned'>
  close(): Promise<void>
}

/** Default of `giveUpAfterMs`. If a receiver is down for longer, an operator has to replay the dead letters. */
const GIVE_UP_AFTER_MS = 24 * 3_600_000
/** First pause after a write to Kafka has failed. Later pauses are longer, up to `LONGEST_PAUSE_MS`. */
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 5_000
/**
 * How long a write to Kafka may take after the sink has begun to give up the partition. Kafka may be unreachable for
 * hours. Without a limit, the partition could not move to another process in the meantime.
 */
const LAST_WRITE_GRACE_MS = 2_000

type Failed = Extract<DeliveryOutcome, { outcome: 'failed' | 'refused' }>

export function courier(deps: CourierDeps): Courier {
  const { target, transport, retryTopic, deadLetters, counts, runtime } = deps
  const giveUpAfterMs = target.giveUpAfterMs ?? GIVE_UP_AFTER_MS
  const appenders = new Map<number, PublishAppender>()
  let publisher: Publisher | undefined
  let isClosed = false

  async function deliver(attempt: Attempt, release: () => void, closing: AbortSignal): Promise<'done' | 'abandoned'> {
    const startedAt = runtime.now()
    const outcome = await target.deliver(attempt.record).finally(release)
    switch (outcome.outcome) {
      case 'delivered':
        counts.delivered++
        return 'done'
      case 'dropped':
        countOne(counts.dropped, outcome.code)
        return 'done'
      case 'failed':
      case 'refused':
        countOne(counts.failed, outcome.code)
        return await postpone(attempt, outcome, startedAt, closing)
    }
  }

  async function postpone(attempt: Attempt, outcome: Failed, startedAt: number, closing: AbortSignal): Promise<'done' | 'abandoned'> {
    const { record, retry } = attempt
    const origin = retry?.origin ?? originOf(record.chunk, record.row)
    const failures = (retry?.failures ?? 0) + 1
    const firstAt = retry?.firstAt ?? startedAt
    const plan = outcome.outcome === 'refused' ? undefined : planned({ failures, firstAt, outcome })
    const { chunk, row } = record
    const letter: SinkDeadLetter = { chunk, row, code: outcome.code, message: messageOf(outcome, failures), origin }
    if (plan === undefined) return await giveUp(letter, closing)
    const state: RetryState = { origin, failures, firstAt, notBefore: plan.notBefore }
    try {
      return await persist(() => publish(record, state, plan, outcome.code), closing)
    } catch (error) {
      if (!(error instanceof TransportError) || error.code !== 'MESSAGE_TOO_LARGE') throw error
      return await giveUp(letter, closing)
    }
  }

  function planned({ failures, firstAt, outcome }: { failures: number; firstAt: number; outcome: Failed }): RetryPlan | undefined {
    const retryAfterMs = 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined
    return planRetry({ failures, firstAt, now: runtime.now(), retryAfterMs }, giveUpAfterMs, runtime.random)
  }

  async function giveUp(letter: SinkDeadLetter, closing: AbortSignal): Promise<'done' | 'abandoned'> {
    const ended = await setAside(letter, closing)
    if (ended === 'done') countOne(deadLetters === undefined ? counts.dropped : counts.deadLettered, letter.code)
    return ended
  }

  async function setAside(letter: SinkDeadLetter, closing: AbortSignal): Promise<'done' | 'abandoned'> {
    if (deadLetters === undefined) return 'done'
    return await persist(() => deadLetters.send([letter]), closing)
  }

  /**
   * Repeats a write to Kafka until it succeeds. If the sink gives up the partition before that, the partition's next
   * owner delivers the record again.
   */
  async function persist(write: () => Promise<void>, closing: AbortSignal): Promise<'done' | 'abandoned'> {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return (await endsInTime(write(), closing)) ? 'done' : 'abandoned'
      } catch (error) {
        if (!isPassing(error)) throw error
        runtime.log.warn({ target: target.name, reason: error.message }, 'sink_record_not_moved')
        if (closing.aborted || isClosed) return 'abandoned'
        await runtime.sleep(pause, closing)
      }
    }
  }

  /**
   * Waits for a write. Once the sink begins to give up the partition, waits for at most `LAST_WRITE_GRACE_MS` longer.
   * @returns whether the write has ended
   */
  async function endsInTime(writing: Promise<void>, closing: AbortSignal): Promise<boolean> {
    const { promise: isClosing, resolve } = Promise.withResolvers<void>()
    const stop = () => resolve()
    closing.addEventListener('abort', stop)
    if (closing.aborted) stop()
    try {
      const isWritten = await Promise.race([writing.then(() => true), isClosing.then(() => false)])
      return isWritten || (await endsWithin(runtime, LAST_WRITE_GRACE_MS, writing))
    } finally {
      closing.removeEventListener('abort', stop)
    }
  }

  function publish({ chunk, row }: QueuedRecord, state: RetryState, { step }: RetryPlan, reason: string): Promise<void> {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = chunk
    const hash = murmur2(buffer, keyStart[row], keyEnd[row]) & 0x7fffffff
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const receipt = { settled: (_count: number, error: TransportError | undefined) => (error === undefined ? resolve() : reject(error)) }
    const value = valueStart[row] < 0 ? null : buffer
    const fields = [runtime.now(), buffer, keyStart[row], keyEnd[row], value, valueStart[row], valueEnd[row]] as const
    appenderFor(retryPartition(step, hash, deps.retryPartitions())).append(receipt, ...fields, retryHeaders(state, reason))
    return promise
  }

  /** The publisher is opened on first use, because most processes never need it. */
  function appenderFor(partition: number): PublishAppender {
    publisher ??= transport.publisher()
    const appender = appenders.get(partition) ?? publisher.appender(retryTopic, partition)
    appenders.set(partition, appender)
    return appender
  }

  return {
    name: target.name,
    deliver,
    setAside,
    async close() {
      isClosed = true
      await publisher?.close()
    },
  }
}

function messageOf({ message }: Failed, failures: number): string {
  return failures === 1 ? message : `${message} (attempt ${failures})`
}
