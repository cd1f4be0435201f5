import type { TopicPartition, Transport } from '../../kafka/transport.ts'
import { partitionKey } from '../../kafka/transport.ts'
import type { Payments } from './payments.ts'
import { PARTITIONS } from './topology.ts'

const HOUR_MS = 3_600_000
const WINDOWS_MS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS]
/** tx_id, card, terminal, amount_cents, ts, then count and sum per window, then last_ts. */
const FIELDS = 12
const FIRST_WINDOW_FIELD = 5
const LAST_TS_FIELD = 11
const POLL_MS = 1_000
/** Nothing more comes for so long although the log's end is not reached: the output is stuck behind an open transaction. */
const SILENCE_MS = 30_000

/** The right answer to every payment, FIELDS numbers each, by other means than the topology's: prefix sums and binary search. */
export function expectedFeatures(payments: Payments): Float64Array {
  const byCard = new Map<number, number[]>()
  for (let i = 0; i < payments.count; i++) {
    const list = byCard.get(payments.card[i])
    if (list) list.push(i)
    else byCard.set(payments.card[i], [i])
  }
  const expected = new Float64Array(payments.count * FIELDS)
  for (const list of byCard.values()) {
    const sums = [0]
    for (const i of list) sums.push(sums[sums.length - 1] + payments.cents[i])
    list.forEach((payment, at) => {
      const ts = payments.ts[payment]
      const features = WINDOWS_MS.flatMap((window) => {
        const first = firstAfter(payments.ts, list, at, ts - window)
        return [at - first, sums[at] - sums[first]]
      })
      const previous = at === 0 ? -1 : payments.ts[list[at - 1]]
      const { txId, card, terminal, cents } = payments
      expected.set([txId[payment], card[payment], terminal[payment], cents[payment], ts, ...features, previous], payment * FIELDS)
    })
  }
  return expected
}

/** Index of the first of `list[0..end)` whose time is after `time`. */
function firstAfter(ts: Float64Array, list: readonly number[], end: number, time: number): number {
  let low = 0
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ts[list[middle]] > time) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * Reads the whole output topic with read_committed and compares every field of every record.
 * @returns 'ok', or the first difference
 */
export async function verifyOutput(transport: Transport, topic: string, payments: Payments): Promise<string> {
  const expected = expectedFeatures(payments)
  const indexOf = new Map<number, number>()
  for (let i = 0; i < payments.count; i++) indexOf.set(payments.txId[i], i)
  const seen = new Uint8Array(payments.count)
  const fields = new Float64Array(FIELDS)
  let records = 0

  function check(buffer: Buffer, start: number, end: number): string | undefined {
    if (!readLongs(buffer, start, end, fields)) return 'a value does not hold 12 longs'
    records++
    const index = indexOf.get(fields[0])
    if (index === undefined) return `unknown payment ${fields[0]}`
    if (seen[index]++ > 0) return `payment ${fields[0]} twice`
    for (let field = 0; field < FIELDS; field++) {
      if (fields[field] === expected[index * FIELDS + field]) continue
      return `payment ${fields[0]}: field ${field} (windows from ${FIRST_WINDOW_FIELD}, last_ts ${LAST_TS_FIELD}) is ${fields[field]}, not ${expected[index * FIELDS + field]}`
    }
    return undefined
  }

  const difference = await readAll(transport, topic, check)
  if (difference !== undefined) return difference
  return records === payments.count ? 'ok' : `${payments.count - records} payments are missing`
}

async function readAll(
  transport: Transport,
  topic: string,
  check: (buffer: Buffer, start: number, end: number) => string | undefined,
): Promise<string | undefined> {
  const partitions: TopicPartition[] = Array.from({ length: PARTITIONS }, (_, partition) => ({ topic, partition }))
  const ends = await transport.offsets(partitions, 'end')
  const fetcher = transport.fetcher({ isolation: 'read_committed' })
  for (const partition of partitions) fetcher.assign(partition, 0, 'fail')
  const atEnd = (each: TopicPartition) => (fetcher.position(each) ?? 0) >= (ends.get(partitionKey(topic, each.partition)) ?? 0)
  let lastData = Date.now()
  try {
    while (!partitions.every(atEnd)) {
      for (const { chunks } of await fetcher.poll(POLL_MS)) {
        for (const { buffer, count, valueStart, valueEnd } of chunks) {
          lastData = Date.now()
          for (let i = 0; i < count; i++) {
            const difference = check(buffer, valueStart[i], valueEnd[i])
            if (difference !== undefined) return difference
          }
        }
      }
      if (Date.now() - lastData > SILENCE_MS) return 'the end of the output cannot be read with read_committed'
    }
    return undefined
  } finally {
    await fetcher.close()
  }
}

/** Zigzag varints, read here anew so that the codec under test does not check itself. @returns whether exactly these filled the range */
export function readLongs(buffer: Buffer, start: number, end: number, into: Float64Array): boolean {
  let at = start
  for (let field = 0; field < into.length; field++) {
    let value = 0
    let scale = 1
    for (;;) {
      if (at >= end) return false
      const byte = buffer[at++]
      value += (byte & 0x7f) * scale
      scale *= 128
      if (byte < 0x80) break
    }
    into[field] = value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  return at === end
}
