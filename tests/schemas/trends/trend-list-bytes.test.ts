import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteWriter, type Codec, CodecError } from '../../../schemas/codec.ts'
import { trendOutput } from '../../../schemas/trends/topics.ts'
import { type TrendListBytes, trendListBytes } from '../../../schemas/trends/trend-list-bytes.ts'
import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'

const HEADER_BYTES = 5
const lookup = { get: () => trendOutput.value.schema }
const whole = trendOutput.value.open(3, lookup)
const asBytes = trendListBytes(trendOutput.value).open(3, lookup)

const text = fc.string({ unit: 'grapheme', maxLength: 80 })
const long = fc.maxSafeNat()
const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const entries: fc.Arbitrary<TrendEntry> = fc.record({
  term: text,
  name: text,
  tweet_volume: long,
  volume_24h: long,
  velocity: fc.double({ noNaN: true }),
  velocity_vs_usual: fc.double({ noNaN: true }),
  score: fc.double({ noNaN: true }),
  label: fc.option(text),
  trending_since: long,
  sample_tweets: fc.array(id, { maxLength: 3 }),
  rank_change: fc.option(fc.integer()),
  peak_rank: fc.option(fc.integer()),
  lang: fc.option(text),
  users: fc.option(long),
  variants: fc.array(text, { maxLength: 3 }),
  related: fc.array(text, { maxLength: 3 }),
  typical_tweet: fc.option(id),
})
const lists: fc.Arbitrary<TrendOutput> = fc.record({
  woeid: fc.integer(),
  window_end: long,
  source: fc.constantFrom('pipeline', 'endpoint'),
  missing_partitions: fc.integer(),
  entries: fc.array(entries, { maxLength: 5 }),
})

function encoded(value: TrendOutput): Buffer {
  const out = byteWriter()
  whole.encode(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

function contentOf(list: TrendListBytes): TrendOutput {
  const { woeid, window_end, source, missing_partitions } = list
  return { woeid, window_end, source, missing_partitions, entries: list.first(list.length) }
}

function outcomeOf<T>(codec: Codec<T>, bytes: Buffer, content: (value: T) => unknown): unknown {
  try {
    return content(codec.decode(bytes, 0, bytes.length))
  } catch (error) {
    expect(error).toBeInstanceOf(CodecError)
    return 'refused'
  }
}

test('the fields of a list and its best entries are read from the bytes, whatever its schema id is', () => {
  fc.assert(
    fc.property(lists, fc.constantFrom(3, 4), fc.nat(6), (list, schemaId, count) => {
      const bytes = encoded(list)
      bytes.writeInt32BE(schemaId, 1)
      const read = asBytes.decode(bytes, 0, bytes.length)
      expect(contentOf(read)).toEqual(list)
      expect(read.first(count)).toEqual(list.entries.slice(0, count))
      expect(read.body).toEqual(bytes.subarray(HEADER_BYTES))
    }),
  )
})

test('reading a damaged list from its bytes gives the same content as the full decoder, or both refuse the list', () => {
  fc.assert(
    fc.property(lists, fc.nat(), fc.nat(255), fc.boolean(), (list, at, byte, isCut) => {
      const bytes = encoded(list)
      const place = HEADER_BYTES + (at % (bytes.length - HEADER_BYTES))
      bytes[place] = byte
      const damaged = isCut ? bytes.subarray(0, place) : bytes
      expect(outcomeOf(asBytes, damaged, contentOf)).toEqual(outcomeOf(whole, damaged, (value) => value))
    }),
    { numRuns: 3_000 },
  )
})

test('entries in several blocks are read, and blocks with a wrong size are refused', () => {
  const one = { woeid: 1, window_end: 0, source: 'pipeline', missing_partitions: 0 } as const
  const [entry] = fc.sample(entries, { numRuns: 1, seed: 5 })
  const bytes = encoded({ ...one, entries: [entry] })
  // The head consists of one byte for each of the four fields and one for the number of entries. The list ends with a
  // 0.
  const item = bytes.subarray(HEADER_BYTES + 5, -1)
  const size = byteWriter()
  whole.encode({ ...one, window_end: item.length, entries: [] }, size)
  const sizeBytes = size.buffer.subarray(HEADER_BYTES + 1, size.length - 3)
  const blocks = Buffer.concat([
    bytes.subarray(0, HEADER_BYTES + 4),
    Buffer.from([1]),
    sizeBytes,
    item,
    Buffer.from([2]),
    item,
    Buffer.from([0]),
  ])
  expect(asBytes.decode(blocks, 0, blocks.length).first(9)).toEqual([entry, entry])
  blocks[HEADER_BYTES + 5]--
  blocks[HEADER_BYTES + 5]--
  expect(() => asBytes.decode(blocks, 0, blocks.length)).toThrow('a block does not have its declared size')
})
