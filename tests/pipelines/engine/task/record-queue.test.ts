import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { RecordChunk } from '../../../../kafka/transport.ts'
import { RecordQueue } from '../../../../pipelines/engine/task/record-queue.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { lines } from '../words.ts'

const RECORDS = 4
const PAYLOAD_BYTES = 1_000

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Creates records with a value and without a key. */
function chunk(firstOffset: number, valueLength = 1): RecordChunk {
  const columns = () => new Int32Array(RECORDS)
  const starts = Int32Array.from({ length: RECORDS }, (_, i) => i * PAYLOAD_BYTES)
  return {
    topic: lines.name,
    partition: 0,
    buffer: Buffer.alloc(RECORDS * PAYLOAD_BYTES, 'x'),
    count: RECORDS,
    offsets: Float64Array.from({ length: RECORDS }, (_, i) => firstOffset + i),
    timestamps: new Float64Array(RECORDS),
    keyStart: columns().fill(-1),
    keyEnd: columns().fill(-1),
    valueStart: starts,
    valueEnd: starts.map((start) => start + valueLength),
    headerStart: columns().fill(-1),
  }
}

function emptyQueue(): RecordQueue {
  const [stream] = topology('reader', (t) => {
    t.source(lines, { keys: 'optional' }).process('read', {}, () => {})
  }).declare().streams
  const codecs = { keyCodec: utf8, valueCodec: utf8 }
  return new RecordQueue(stream, {
    source: 0,
    partition: 0,
    ...codecs,
    seesMarkers: false,
    checksBefore: -1,
    isMissing: () => false,
    failed: new Map(),
  })
}

test('a slice ends with the record that reaches its byte limit, but contains at least one record', () => {
  const queue = emptyQueue()
  const end = { nextOffset: 2 * RECORDS, highWatermark: 2 * RECORDS, lastStableOffset: 2 * RECORDS, fetchedAt: 0 }
  queue.push({ topic: lines.name, partition: 0, chunks: [chunk(0, 100), chunk(RECORDS, 100)], ...end })
  const slices: number[] = []
  while (queue.queuedRecords > 0) {
    slices.push(queue.decode(1_000, slices.length === 0 ? 1 : 450))
    for (let left = queue.slots; left > 0; left--) {
      expect(queue.valueBytes()).toBe(100)
      queue.advance()
    }
  }
  expect(slices).toEqual([1, 5, 2])
  expect(queue.position).toBe(2 * RECORDS)
})

test.each([
  { what: 'first', empty: [0], bytes: 2_100 },
  { what: 'last', empty: [3], bytes: 2_100 },
  { what: 'only', empty: [0, 1, 2, 3], bytes: 0 },
])('the size of a chunk is right even if its $what records have neither key nor value, like time markers', ({ empty, bytes }) => {
  const queue = emptyQueue()
  const whole = chunk(0, 100)
  // The chunk does not begin at the start of its buffer, because the chunks of a fetch share the buffer.
  const place = (positions: Int32Array) => positions.map((at, row) => (empty.includes(row) ? -1 : at + 1_000_000))
  const marked = { ...whole, valueStart: place(whole.valueStart), valueEnd: place(whole.valueEnd) }
  const end = { nextOffset: RECORDS, highWatermark: RECORDS, lastStableOffset: RECORDS, fetchedAt: 0 }
  queue.push({ topic: lines.name, partition: 0, chunks: [marked], ...end })
  expect(queue.queuedBytes).toBe(bytes)
})

test('a queue releases the memory of processed records even if it never becomes empty', async () => {
  const queue = emptyQueue()
  const processed: WeakRef<Buffer>[] = []
  let offset = 0

  function push(): void {
    const next = chunk(offset)
    offset += RECORDS
    processed.push(new WeakRef(next.buffer))
    const end = { nextOffset: offset, highWatermark: offset + 1_000, lastStableOffset: offset + 1_000, fetchedAt: 0 }
    queue.push({ topic: lines.name, partition: 0, chunks: [next], ...end })
  }

  push()
  for (let round = 0; round < 500; round++) {
    push()
    if (queue.slot === queue.slots) queue.decode(RECORDS)
    for (let i = 0; i < RECORDS; i++) queue.advance()
  }
  expect(queue.queuedRecords).toBe(RECORDS)
  expect(queue.position).toBe(offset - RECORDS)
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  const kept = processed.filter((buffer) => buffer.deref() !== undefined).length
  expect(kept).toBeLessThan(100)
})
