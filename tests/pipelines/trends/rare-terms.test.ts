import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newCell, type TermCell } from '../../../pipelines/trends/cells.ts'
import { LANGUAGE_CODES } from '../../../pipelines/trends/languages.ts'
import { CellCounts, packCell, packContribution, packedCells, unpackRow, writePacked } from '../../../pipelines/trends/packed-cells.ts'
import { compacted, isRare, RareRow, RareTerm, stateIn, type TrackedRegion, writeTracked } from '../../../pipelines/trends/rare-terms.ts'
import { samplesOf } from '../../../pipelines/trends/samples.ts'
import { applyCounts, candidateOf, NOBODY, newTermState, windowCount } from '../../../pipelines/trends/term-state.ts'
import { MINUTE_MS } from '../../../pipelines/trends/time.ts'
import { byteWriter, CodecError } from '../../../schemas/codec.ts'
import { pathOf } from '../../../schemas/trends/places/regions.ts'

const NOW = 30_000_000
/** WOEIDs of New York, Chicago, London, the United States and the world. */
const PLACES = [2459115, 2379574, 44418, 23424977, 1]

const repeat = fc
  .record({
    earlier: fc.integer({ min: NOW - 70, max: NOW }),
    gap: fc.nat(59),
    count: fc.constantFrom(-1, 1, 3),
    levels: fc.integer({ min: 1, max: 7 }),
  })
  .map(({ earlier, gap, ...more }) => ({ earlier, later: earlier + gap, ...more }))
const contribution = fc.record({
  place: fc.constantFrom(...PLACES),
  form: fc.constantFrom('#Sandy', 'sandy', 'SANDY'),
  delay: fc.oneof(fc.integer({ min: -5, max: 130 }), fc.integer({ min: 0, max: 1_000 })),
  user: fc.bigInt({ min: 1n, max: 9n }),
  repeats: fc.array(repeat, { maxLength: 1 }),
})

test('a rare term has the same values in each region as if the region had a separate state', () => {
  fc.assert(
    fc.property(fc.array(contribution, { minLength: 1, maxLength: 32 }), (all) => {
      const cellOf = (each: (typeof all)[number], i: number): TermCell => {
        const created_at = (NOW - each.delay) * MINUTE_MS
        const tweet = { tweet_id: BigInt(i), user_id: each.user, created_at, lang: 'en' }
        return newCell({
          place: each.place,
          original: each.form,
          minute: NOW - each.delay,
          tweet,
          repeats: each.repeats,
        })
      }
      const contributions = all.map(cellOf)
      const cells = contributions.map((cell) => packed(cell)).reduce((known, added) => compacted(known + added))
      expect(cells.length).toBeLessThan(1_500)
      for (const woeid of PLACES) {
        const own = contributions.filter(({ place }) => pathOf(place)?.includes(woeid))
        const state = stateIn(new RareTerm(0, cells), woeid)
        if (own.length === 0) {
          expect(state).toBeUndefined()
          continue
        }
        const expected = newTermState()
        for (const cell of own) applyCounts(expected, cell, pathOf(cell.place)!.indexOf(woeid), NOBODY)
        const look = (each: typeof expected) => candidateOf('sandy', each, windowCount(each, NOW), undefined, NOW)
        expect(look(state!)).toEqual(look(expected))
      }
    }),
    { numRuns: 300 },
  )
})

test('packed cells are read back unchanged, and their counts can be read without the other fields', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
  const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  const sample = fc.record({
    tweet_id: id,
    user_id: id,
    created_at: fc.nat(2 ** 31).map((at) => at * 1_000),
    lang: fc.nat(LANGUAGE_CODES - 1),
  })
  const number = fc.nat(2 ** 31 - 1)
  const cell = fc
    .record({
      place: number,
      buckets: fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 3 }),
      forms: fc.array(fc.record({ form: text, count: number }), { maxLength: 3 }),
      samples: fc.array(sample, { maxLength: 3 }).map((samples) => Buffer.concat(samples.map(samplesOf))),
      repeats: fc.array(repeat, { maxLength: 3 }),
      drawn: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    })
    .map(({ buckets, ...more }) => ({ ...more, minutes: buckets.map(([minute]) => minute), counts: buckets.map(([, count]) => count) }))
  fc.assert(
    fc.property(fc.uniqueArray(cell, { minLength: 1, maxLength: 4, selector: ({ place }) => place }), (cells) => {
      const bytes = packed(...cells)
      expect(unpackRow(bytes)).toEqual(cells)
      const read = new CellCounts().readRow(bytes)
      const counts = Array.from({ length: read.length }, (_, i) => [read.places[i], read.minutes[i], read.counts[i]])
      expect(counts).toEqual(cells.flatMap(({ place, minutes, counts }) => minutes.map((minute, i) => [place, minute, counts[i]])))
      expect(read).toMatchObject({ cells: cells.length, distinctPlaces: cells.length })
      const twice = read.readRow(bytes + bytes)
      expect(twice).toMatchObject({ cells: 2 * cells.length, distinctPlaces: cells.length })
    }),
    { numRuns: 300 },
  )
})

test('a single contribution is packed into the same bytes as its cell, and truncated cells are refused', () => {
  const sample = { tweet_id: 2n ** 62n, user_id: 7n, created_at: NOW * MINUTE_MS, lang: 0 }
  const out = byteWriter()
  const contribution = {
    place: PLACES[0],
    minute: NOW,
    tweet: sample,
    repeats: [{ earlier: NOW - 3, later: NOW, count: 1, levels: 7 }],
  }
  packContribution({ ...contribution, original: { buffer: Buffer.from('a #Sandy'), start: 2, end: 8 } }, out)
  const bytes = packedCells(out.buffer, 0, out.length)
  expect(bytes).toEqual(packed(newCell({ ...contribution, original: '#Sandy' })))
  for (let length = 1; length < bytes.length; length++) expect(() => unpackRow(bytes.slice(0, length))).toThrow(CodecError)
})

test('a row names the regions that track its term, and the hour in which the first of these regions began to do so', () => {
  const cells = packed(
    newCell({ place: 1, original: 'x', minute: NOW, tweet: { tweet_id: 1n, user_id: 1n, created_at: 0, lang: 0 }, repeats: [] }),
  )
  const out = byteWriter()
  const read = (tracked: readonly TrackedRegion[]) => {
    out.length = 0
    writeTracked(tracked, out)
    const cellsAt = out.length
    writePacked(cells, out)
    const row = new RareRow().read({ buffer: out.buffer, start: 0, end: out.length })
    expect(row).toMatchObject({ frequentHour: 0, cellsAt, tracked })
    return row.trackedHour
  }
  expect(read([])).toBe(0)
  expect(read([{ woeid: 1, hour: 500_002 }])).toBe(500_002)
  expect(
    read([
      { woeid: 1, hour: 500_002 },
      { woeid: 44418, hour: 500_001 },
      { woeid: 23424977, hour: 500_003 },
    ]),
  ).toBe(500_001)
})

test('a term is rare while it has at most 32 contributions, all of them within one day', () => {
  const sample = { tweet_id: 1n, user_id: 1n, created_at: 0, lang: 0 }
  const cell = (minute: number, count: number) => ({
    ...newCell({ place: 1, original: 'x', minute, tweet: sample, repeats: [] }),
    counts: [count],
  })
  const rare = (...cells: TermCell[]) => isRare(new CellCounts().readRow(packed(...cells)))
  expect(rare(cell(NOW, 32))).toBe(true)
  expect(rare(cell(NOW, 16), cell(NOW, 17))).toBe(false)
  expect(rare(cell(NOW - 24 * 60, 1), cell(NOW, 1))).toBe(true)
  expect(rare(cell(NOW - 24 * 60 - 1, 1), cell(NOW, 1))).toBe(false)
})

function packed(...cells: TermCell[]): string {
  const out = byteWriter()
  for (const cell of cells) packCell(cell, out)
  return packedCells(out.buffer, 0, out.length)
}
