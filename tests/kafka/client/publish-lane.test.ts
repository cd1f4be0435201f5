import { expect, test } from 'vitest'
import { bufferPool } from '../../../kafka/client/appender.ts'
import type { Outcome } from '../../../kafka/client/produce-request.ts'
import { type LaneDeps, PublishLane, type StampedBatch } from '../../../kafka/client/publish-lane.ts'
import { BASE_SEQUENCE_AT, PRODUCER_EPOCH_AT, RECORD_COUNT_AT } from '../../../kafka/record-batch/format.ts'
import { readChunks } from '../../../kafka/record-batch/reader.ts'
import { TransportError } from '../../../kafka/transport.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const PRODUCER_ID = 7
/** How many of a producer's latest batches a running broker remembers. A restarted broker remembers only one batch. */
const REMEMBERED_BATCHES = 5
const MAX_VALUE_BYTES = 100
const TOO_LARGE: Outcome = { kind: 'refused', error: new TransportError('MESSAGE_TOO_LARGE', 'too large', { fatal: true }) }
const UNANSWERED: Outcome = { kind: 'unknown', reason: 'NETWORK_EXCEPTION', leaderLost: true }

/**
 * Creates a model of one partition's log. It accepts or refuses the batches of an idempotent producer by Kafka's rules.
 */
function partitionLog() {
  const values: string[] = []
  let epoch = -1
  /** First and last sequence numbers of the latest batches, as the broker remembers them. */
  let remembered: { first: number; last: number }[] = []

  function take(bytes: Buffer): Outcome {
    const batch = valuesOf(bytes)
    if (batch.some((value) => value.length > MAX_VALUE_BYTES)) return TOO_LARGE
    const itsEpoch = bytes.readInt16BE(PRODUCER_EPOCH_AT)
    const first = bytes.readInt32BE(BASE_SEQUENCE_AT)
    const last = first + bytes.readInt32BE(RECORD_COUNT_AT) - 1
    if (itsEpoch < epoch) return { kind: 'out-of-sequence' }
    if (itsEpoch > epoch && epoch >= 0 && first !== 0) return { kind: 'out-of-sequence' }
    if (itsEpoch === epoch) {
      if (remembered.some((one) => one.first === first && one.last === last)) return { kind: 'appended' }
      if (first !== remembered.at(-1)!.last + 1) return { kind: 'out-of-sequence' }
    } else remembered = []
    epoch = itsEpoch
    remembered = [...remembered, { first, last }].slice(-REMEMBERED_BATCHES)
    values.push(...batch)
    return { kind: 'appended' }
  }

  return {
    values,
    take,
    restart: () => {
      remembered = remembered.slice(-1)
    },
    /** Simulates the election of a leader whose log lacks the last `count` records. */
    loseLast: (count: number) => {
      values.splice(-count)
      remembered = [{ first: -1, last: -1 }]
    },
  }
}

function valuesOf(bytes: Buffer): string[] {
  return readChunks({ topic: 't', partition: 0, records: bytes, from: 0, aborted: null, verifyChecksums: true }).flatMap((chunk) =>
    Array.from({ length: chunk.count }, (_, row) => chunk.buffer.toString('utf8', chunk.valueStart[row], chunk.valueEnd[row])),
  )
}

function openLane() {
  const runtime = manualRuntime()
  const holdings = { records: 0, bytes: 0 }
  const lost = { times: 0 }
  const deps: LaneDeps = {
    holdings,
    pool: bufferPool(),
    runtime,
    admit: () => undefined,
    onWork: () => undefined,
    onSequenceLost: () => lost.times++,
  }
  const lane = new PublishLane('t', 0, deps)
  lane.identity = { producerId: PRODUCER_ID, producerEpoch: 0 }
  const fates = new Map<string, string[]>()
  const order: string[] = []
  function append(value: string, timeoutMs?: number): void {
    const bytes = Buffer.from(value)
    const settled = (count: number, error?: TransportError) => {
      expect(count).toBe(1)
      fates.set(value, [...(fates.get(value) ?? []), error?.code ?? 'ok'])
      if (error === undefined) order.push(value)
    }
    lane.append({ timeoutMs, settled }, runtime.monotonic(), null, 0, 0, bytes, 0, bytes.length)
  }
  return { lane, runtime, holdings, lost, fates, order, append }
}

/** Takes batches from the lane until the lane allows no further batch to be sent. */
function takeAll({ lane, runtime }: ReturnType<typeof openLane>): StampedBatch[] {
  const taken: StampedBatch[] = []
  while (lane.isSendable(runtime.monotonic())) taken.push(lane.take())
  return taken
}

/** Opens a lane and acknowledges its first batch, so that the broker knows the producer. */
function openEstablishedLane() {
  const opened = openLane()
  opened.append('first')
  const [first] = takeAll(opened)
  opened.lane.answered(first, { kind: 'appended' })
  opened.order.length = 0
  return opened
}

test('a lane sends its first batch alone, because a broker that does not know the producer would accept the second batch without the first', () => {
  const opened = openLane()
  opened.append('a')
  const [first] = takeAll(opened)
  opened.append('b')
  expect(takeAll(opened)).toEqual([])
  opened.lane.answered(first, { kind: 'appended' })
  expect(takeAll(opened)).toHaveLength(1)
})

test('if a lane has sent nothing for a day, it sends its next batch alone again', () => {
  const opened = openEstablishedLane()
  opened.runtime.advance(24 * 60 * 60_000)
  opened.append('a')
  expect(takeAll(opened)).toHaveLength(1)
  opened.append('b')
  expect(takeAll(opened)).toEqual([])
})

test('a lane keeps up to five batches in flight, in order, and collects later records into the next batch', () => {
  const opened = openEstablishedLane()
  const batches: StampedBatch[] = []
  for (const value of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    opened.append(value)
    batches.push(...takeAll(opened))
  }
  expect(batches.map(({ bytes }) => [bytes.readInt32BE(BASE_SEQUENCE_AT), valuesOf(bytes)])).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map((value, index) => [index + 1, [value]]),
  )
  opened.lane.answered(batches[0], { kind: 'appended' })
  const [next] = takeAll(opened)
  expect(valuesOf(next.bytes)).toEqual(['f', 'g'])
  expect(opened.order).toEqual(['a'])
})

test('the acknowledgement of a batch also settles all earlier batches', () => {
  const opened = openEstablishedLane()
  const batches = ['a', 'b', 'c'].flatMap((value) => {
    opened.append(value)
    return takeAll(opened)
  })
  opened.lane.answered(batches[0], UNANSWERED)
  opened.lane.answered(batches[2], { kind: 'appended' })
  expect(opened.order).toEqual(['a', 'b', 'c'])
  opened.lane.answered(batches[1], UNANSWERED)
  expect([opened.lane.hasWork, opened.holdings]).toEqual([false, { records: 0, bytes: 0 }])
})

test('when a broker has lost acknowledged records, the unacknowledged records are written once', () => {
  const opened = openLane()
  const log = partitionLog()
  const send = () => {
    for (const one of takeAll(opened)) opened.lane.answered(one, log.take(one.bytes))
  }
  opened.append('a')
  send()
  log.loseLast(1)
  opened.append('b')
  opened.append('c')
  send()
  expect([opened.lost.times, opened.lane.hasWork]).toEqual([1, true])
  opened.runtime.advance(1_000)
  send()
  expect([log.values, opened.order]).toEqual([
    ['b', 'c'],
    ['a', 'b', 'c'],
  ])
})

test('when the epochs of its producer id are used up, a lane requests a new producer id', () => {
  const opened = openLane()
  opened.lane.identity = { producerId: PRODUCER_ID, producerEpoch: 32_767 }
  opened.append('x'.repeat(MAX_VALUE_BYTES + 1))
  const [batch] = takeAll(opened)
  opened.lane.answered(batch, TOO_LARGE)
  expect(opened.lane.identity).toBeUndefined()
})

test('records that have timed out are no longer sent', () => {
  const opened = openLane()
  opened.append('sent', 100)
  const [batch] = takeAll(opened)
  opened.append('unsent', 100)
  opened.append('later', 10_000)
  opened.runtime.advance(200)
  opened.lane.expire(opened.runtime.monotonic())
  expect([...opened.fates]).toEqual([
    ['sent', ['TIMED_OUT']],
    ['unsent', ['TIMED_OUT']],
  ])
  opened.lane.answered(batch, UNANSWERED)
  const sent = takeAll(opened).map(({ bytes }) => [
    bytes.readInt16BE(PRODUCER_EPOCH_AT),
    bytes.readInt32BE(BASE_SEQUENCE_AT),
    valuesOf(bytes),
  ])
  expect(sent).toEqual([[1, 0, ['later']]])
})

/** Creates a generator of random integers from 0 to `below` - 1. It uses Mulberry32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const SEEDS = 150
const STEPS = 300

test('despite losses, delays, refusals and restarts, each record is in the log at most once and in order, and its sender gets one outcome', () => {
  let refusals = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomFrom(seed)
    const opened = openLane()
    const { lane, runtime, fates, order, append, holdings } = opened
    const log = partitionLog()
    /**
     * Requests that have not reached the broker yet, oldest first. The test compares each batch with its `copy` to
     * detect changes after the batch was sent.
     */
    const network: { batch: StampedBatch; copy: Buffer; isAwaited: boolean }[] = []
    let count = 0

    const arrive = (index: number) => {
      const [request] = network.splice(index, 1)
      expect(request.batch.bytes.equals(request.copy)).toBe(true)
      const outcome = log.take(request.copy)
      if (!request.isAwaited) return
      lane.answered(request.batch, random(8) === 0 ? UNANSWERED : outcome)
    }
    const answerNothing = () => {
      for (const request of network) {
        if (!request.isAwaited) continue
        request.isAwaited = false
        lane.answered(request.batch, UNANSWERED)
      }
    }
    const step = (choice: number) => {
      if (choice < 5) {
        const isLarge = random(12) === 0
        append(`${seed}-${count++}${isLarge ? 'x'.repeat(MAX_VALUE_BYTES) : ''}`, random(3) === 0 ? 20 + random(2_000) : undefined)
      } else if (choice < 9 && lane.isSendable(runtime.monotonic())) {
        const batch = lane.take()
        network.push({ batch, copy: Buffer.from(batch.bytes), isAwaited: true })
      } else if (choice < 13 && network.length > 0) arrive(0)
      else if (choice === 13) {
        // The connection is lost: no response arrives, and the requests may or may not have reached the broker.
        answerNothing()
        for (let index = network.length - 1; index >= 0; index--) if (random(2) === 0) network.splice(index, 1)
      } else if (choice === 14 && network.length > 0) arrive(random(network.length))
      else if (choice === 15) log.restart()
      else if (choice > 15) {
        runtime.advance(random(300))
        lane.expire(runtime.monotonic())
      }
    }
    for (let i = 0; i < STEPS; i++) step(random(18))
    // Sends the remaining records, so that every record gets an outcome.
    for (let round = 0; lane.hasWork; round++) {
      expect(round).toBeLessThan(200)
      runtime.advance(2_000)
      lane.expire(runtime.monotonic())
      while (network.length > 0) arrive(0)
      while (lane.isSendable(runtime.monotonic())) {
        const batch = lane.take()
        lane.answered(batch, log.take(batch.bytes))
      }
    }
    expect(holdings, `seed ${seed}`).toEqual({ records: 0, bytes: 0 })
    expect(fates.size).toBe(count)
    for (const [value, told] of fates) {
      expect(told, `seed ${seed}, ${value}`).toHaveLength(1)
      const times = log.values.filter((one) => one === value).length
      if (told[0] === 'ok') expect(times, `seed ${seed}, ${value}`).toBe(1)
      else if (told[0] === 'MESSAGE_TOO_LARGE') expect(times).toBe(0)
      else expect(times, `seed ${seed}, ${value}`).toBeLessThanOrEqual(1)
      if (told[0] === 'MESSAGE_TOO_LARGE') refusals++
      expect(told[0] === 'MESSAGE_TOO_LARGE').toBe(value.length > MAX_VALUE_BYTES && told[0] !== 'TIMED_OUT')
    }
    expect(log.values, `seed ${seed}`).toEqual(log.values.toSorted((a, b) => numberOf(a) - numberOf(b)))
    expect(order).toEqual(order.toSorted((a, b) => numberOf(a) - numberOf(b)))
  }
  expect(refusals).toBeGreaterThan(SEEDS)
})

function numberOf(value: string): number {
  return Number.parseInt(value.slice(value.indexOf('-') + 1), 10)
}

test('if the partition fails permanently, only records that were never sent are reported as not written', () => {
  const { lane } = openLane()
  const fatal = new Map<string, boolean | undefined>()
  const append = (value: string) => {
    const bytes = Buffer.from(value)
    lane.append({ settled: (_, error) => fatal.set(value, error?.fatal) }, 0, null, 0, 0, bytes, 0, bytes.length)
  }
  append('sent')
  lane.take()
  append('waiting')
  lane.fail(new TransportError('TOPIC_AUTHORIZATION_FAILED', 'not authorized', { fatal: true }))
  expect([...fatal]).toEqual([
    ['sent', false],
    ['waiting', true],
  ])
})

test('a lane sends later records even after earlier records have failed while their batch was waiting for a retry', () => {
  const opened = openEstablishedLane()
  opened.append('a')
  const [unanswered] = takeAll(opened)
  opened.lane.answered(unanswered, UNANSWERED)
  opened.lane.fail(new TransportError('TOPIC_AUTHORIZATION_FAILED', 'not permitted', { fatal: true }))
  opened.runtime.advance(60_000)
  opened.append('b')
  const [next] = takeAll(opened)
  expect(valuesOf(next.bytes)).toEqual(['b'])
  // The log may lack the failed batch, so the next batch begins a new epoch at sequence number 0.
  expect([next.bytes.readInt16BE(PRODUCER_EPOCH_AT), next.bytes.readInt32BE(BASE_SEQUENCE_AT)]).toEqual([1, 0])
  opened.lane.answered(next, { kind: 'appended' })
  expect(opened.fates).toEqual(
    new Map([
      ['first', ['ok']],
      ['a', ['TOPIC_AUTHORIZATION_FAILED']],
      ['b', ['ok']],
    ]),
  )
})

const NOT_PERMITTED: Outcome = {
  kind: 'refused',
  error: new TransportError('TOPIC_AUTHORIZATION_FAILED', 'not permitted', { fatal: true }),
}
const UNEXPLAINED: Outcome = { kind: 'refused', error: new TransportError('UNKNOWN_SERVER_ERROR', 'unexplained', { fatal: true }) }

test.each<{ outcomes: Outcome[]; isCertain: boolean }>([
  { outcomes: [NOT_PERMITTED], isCertain: true },
  { outcomes: [UNANSWERED, TOO_LARGE], isCertain: true },
  { outcomes: [UNANSWERED, NOT_PERMITTED], isCertain: false },
  { outcomes: [UNEXPLAINED], isCertain: false },
])(
  'a refused record is reported as not written only if no attempt can have written it: $outcomes.length attempts, certain: $isCertain',
  ({ outcomes, isCertain }) => {
    const { lane, runtime } = openLane()
    const reported: (TransportError | undefined)[] = []
    lane.append({ settled: (_, error) => reported.push(error) }, 0, null, 0, 0, null, 0, 0)
    for (const outcome of outcomes) {
      runtime.advance(1_000)
      lane.answered(lane.take(), outcome)
    }
    const { error } = outcomes.at(-1) as Extract<Outcome, { kind: 'refused' }>
    expect(reported).toEqual([expect.objectContaining({ code: error.code, fatal: isCertain })])
  },
)
