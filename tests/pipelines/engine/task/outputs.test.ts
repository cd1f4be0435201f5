import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { rawValue, utf8 } from '../../../../pipelines/engine/index.ts'
import { taskOutputs } from '../../../../pipelines/engine/task/outputs.ts'

const PARTITIONS = 5
const [first, second] = ['first', 'second'].map((name) => ({ name, key: utf8, value: rawValue(utf8), partitions: PARTITIONS }))

interface Emitted {
  readonly topic: string
  readonly partition: number
  readonly key: string
  readonly timestamp: number
}

function recordedOutputs() {
  const emitted: Emitted[] = []
  const producer = {
    pendingBytes: 0,
    appender: (topic: string, partition: number) => ({
      topic,
      partition,
      pendingRecords: 0,
      append(timestamp: number, key: Uint8Array | null, start: number, end: number) {
        emitted.push({ topic, partition, timestamp, key: Buffer.from(key as Uint8Array).toString('utf8', start, end) })
      },
      check() {},
    }),
  }
  const codecs = { topicValue: () => utf8, storeValue: () => utf8 } as never
  const counts = new Map([first, second].map(({ name }) => [name, PARTITIONS]))
  return { emitted, outputs: taskOutputs(producer, codecs, counts) }
}

test('each record gets the right key bytes and partition, even if successive records have equal keys', () => {
  const keys = fc.constantFrom('a', 'b', 'a long key')
  const step = fc.record({ topic: fc.constantFrom(first, second), key: keys, by: fc.option(keys, { nil: undefined }), asks: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { emitted, outputs } = recordedOutputs()
      for (const { topic, key, by, asks } of steps) {
        if (asks) expect(outputs.partitionBy(topic, by ?? key)).toBe(partitionFor(Buffer.from(by ?? key), PARTITIONS))
        outputs.emit(topic, key, 'x', 0, { partitionBy: by })
      }
      expect(emitted).toMatchObject(
        steps.map(({ topic, key, by }) => ({ topic: topic.name, key, partition: partitionFor(Buffer.from(by ?? key), PARTITIONS) })),
      )
    }),
  )
})

test('the timestamps of emitted records are truncated to whole milliseconds', () => {
  const { emitted, outputs } = recordedOutputs()
  outputs.emit(first, 'a', 'x', 0, { timestamp: 1_000.9 })
  outputs.broadcast(second, 'a', 'x', -0.5, undefined)
  expect(new Set(emitted.map(({ timestamp }) => timestamp))).toEqual(new Set([1_000, 0]))
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -2, 2 ** 53])('a record with the timestamp %d is not emitted', (timestamp) => {
  const { emitted, outputs } = recordedOutputs()
  const message = `its output to first failed: the timestamp ${timestamp} is not a time in epoch ms`
  expect(() => outputs.emit(first, 'a', 'x', 0, { timestamp })).toThrow(message)
  expect(() => outputs.broadcast(first, 'a', 'x', timestamp, undefined)).toThrow(message)
  outputs.emit(first, 'a', 'x', -1, undefined)
  expect(emitted).toHaveLength(1)
})
