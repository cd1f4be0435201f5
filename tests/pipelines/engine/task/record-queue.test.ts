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
function chunk(firstOffset: number): RecordChunk {
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
    valueEnd: starts.map((start) => start + 1),
    headerStart: columns().fill(-1),
  }
}

test('a queue releases processed records even if it never becomes empty', async () => {
  const [stream] = topology('reader', (t) => {
    t.source(lines, { keys: 'optional' }).process('read', {}, () => {})
  }).declare().streams
  const queue = new RecordQueue(stream, {
    partition: 0,
    keyCodec: utf8,
    valueCodec: utf8,
    seesMarkers: false,
    isMissing: () => false,
    failed: new Map(),
  })
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
