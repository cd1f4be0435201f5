import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { changelogCopy } from '../../../../pipelines/engine/state/copy-changelog.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'

const changelog = { store: 'totals', topic: 'log', partition: 0, positionName: 'log', identityName: 'id', epochName: 'e' }
/** Generates key numbers from a range that is either very small or so large that hardly any key repeats. */
const keyNumber = fc.oneof(fc.nat(3), fc.nat(1_000_000))
const record = fc.record({ key: keyNumber, value: fc.option(fc.string({ maxLength: 3 })) })

test('for fetches of any size, the restored state is the same as after applying the records in order', () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }), (records, perFetch) => {
      const broker = memoryBroker()
      broker.createTopic({ name: 'log', partitions: 1 })
      const expected = new Map<string, string>()
      for (const { key, value } of records) {
        broker.append('log', 0, {
          timestamp: 0,
          key: Buffer.from(`k${key}`),
          value: value === null ? null : Buffer.from(value),
          headers: [],
        })
        if (value === null) expected.delete(`k${key}`)
        else expected.set(`k${key}`, value)
      }
      const session = memoryBackend().session('t')
      const copy = changelogCopy(session)
      for (let offset = 0; offset < records.length; ) {
        const data = broker.fetch('log', 0, offset, perFetch)
        copy(changelog, data)
        session.write()
        offset = data.nextOffset
      }
      const rows = [...session.column('totals', 0).scan({})].map(([key, value]) => [String(key), String(value)])
      expect(new Map(rows as [string, string][])).toEqual(expected)
    }),
  )
})

test('a batch that cannot be decompressed makes a restore fail, because the state would be wrong without its records', () => {
  const nothing = Int32Array.of(-1)
  const chunk = {
    topic: 'log',
    partition: 0,
    buffer: Buffer.alloc(0),
    count: 1,
    offsets: Float64Array.of(0),
    timestamps: Float64Array.of(0),
    keyStart: nothing,
    keyEnd: nothing,
    valueStart: nothing,
    valueEnd: nothing,
    headerStart: nothing,
    unreadable: 'it is too large',
  }
  const data = { topic: 'log', partition: 0, chunks: [chunk], nextOffset: 1, highWatermark: 1, lastStableOffset: 1, fetchedAt: 0 }
  expect(() => changelogCopy(memoryBackend().session('t'))(changelog, data)).toThrow('log-0: it is too large')
})
