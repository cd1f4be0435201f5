import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteWriter, type Codec, CodecError } from '../../../../schemas/codec.ts'
import { trendRareVolumes } from '../../../../schemas/trends/topics.ts'
import type { TrendRareVolume, TrendRareVolumes } from '../../../../schemas/trends/types.ts'
import { RareVolumeBytes, rareVolumeBytes } from '../../../../state/tables/trends/rare-volume-bytes.ts'

const HEADER_BYTES = 5
const lookup = { get: () => trendRareVolumes.value.schema }
const whole = trendRareVolumes.value.open(3, lookup)
const asBytes = rareVolumeBytes(trendRareVolumes.value).open(3, lookup)
const volumes: fc.Arbitrary<TrendRareVolumes> = fc.record({
  adds_as: fc.constantFrom('', '0-17'),
  rows: fc.array(
    fc
      .record({
        term: fc.string({ unit: 'grapheme', maxLength: 90 }),
        minute: fc.nat(2 ** 31 - 1).map((minute) => minute * 1_000),
        counts: fc.array(fc.tuple(fc.nat(2 ** 31 - 1), fc.nat(2 ** 31 - 1)), { maxLength: 4 }),
      })
      .map(({ counts, ...row }) => ({ ...row, woeids: counts.map(([woeid]) => woeid), volumes: counts.map(([, volume]) => volume) })),
    { maxLength: 5 },
  ),
})

function encoded(value: TrendRareVolumes): Buffer {
  const out = byteWriter()
  whole.encode(value, out)
  return Buffer.from(out.buffer.subarray(0, out.length))
}

function contentOf(read: RareVolumeBytes): TrendRareVolumes {
  const rows: TrendRareVolume[] = []
  read.eachRow(({ termStart, termEnd, minute, woeids, volumes }) =>
    rows.push({ term: read.buffer.toString('utf8', termStart, termEnd), minute, woeids: [...woeids], volumes: [...volumes] }),
  )
  expect(read.firstMinute).toBe(rows[0]?.minute ?? 0)
  return { adds_as: read.addsAs, rows }
}

function outcomeOf<T>(codec: Codec<T>, bytes: Buffer, content: (value: T) => unknown): unknown {
  try {
    return content(codec.decode(bytes, 0, bytes.length))
  } catch (error) {
    expect(error).toBeInstanceOf(CodecError)
    return 'refused'
  }
}

test('the bytes contain the rows of the record, whatever its schema id is', () => {
  fc.assert(
    fc.property(volumes, fc.constantFrom(3, 4), (value, schemaId) => {
      const bytes = encoded(value)
      bytes.writeInt32BE(schemaId, 1)
      expect(contentOf(asBytes.decode(bytes, 0, bytes.length))).toEqual(value)
    }),
  )
})

test('a damaged record is refused if the ordinary decoder refuses it, if a row does not have as many volumes as woeids, or if a volume is negative', () => {
  fc.assert(
    fc.property(volumes, fc.nat(), fc.nat(255), (value, at, byte) => {
      const bytes = encoded(value)
      bytes[HEADER_BYTES + (at % (bytes.length - HEADER_BYTES))] = byte
      const makesSense = ({ rows }: TrendRareVolumes) =>
        rows.every(({ woeids, volumes }) => woeids.length === volumes.length && volumes.every((volume) => volume >= 0))
      const expected = outcomeOf(whole, bytes, (read) => (makesSense(read) ? read : 'refused'))
      expect(outcomeOf(asBytes, bytes, contentOf)).toEqual(expected)
    }),
    { numRuns: 1_000 },
  )
})

test('rows in several blocks are read, and blocks with a wrong size are refused', () => {
  // The body has an empty `adds_as` and two blocks, of which only the first states its size. Each block contains one
  // row: term "a", minute 1, woeid 2 and volume 3.
  const row = [2, 0x61, 2, 2, 4, 0, 2, 6, 0]
  const body = Buffer.from([0, 1, 2 * row.length, ...row, 2, ...row, 0])
  const expected = { term: 'a', minute: 1, woeids: [2], volumes: [3] }
  expect(contentOf(new RareVolumeBytes(body, 0, body.length))).toEqual({ adds_as: '', rows: [expected, expected] })
  body[2] += 2
  expect(() => new RareVolumeBytes(body, 0, body.length)).toThrow('a block does not have its declared size')
})
