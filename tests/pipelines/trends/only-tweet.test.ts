import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newCell } from '../../../pipelines/trends/cells.ts'
import { candidateOfOnly, onlyCountFrom, onlyTweetIn, onlyUnchangedThrough } from '../../../pipelines/trends/only-tweet.ts'
import { packCell, packedCells } from '../../../pipelines/trends/packed-cells.ts'
import { RareRow, RareTerm, rareTerm, stateIn } from '../../../pipelines/trends/rare-terms.ts'
import { candidateOf, greatestCountFrom, unchangedThrough, windowCount } from '../../../pipelines/trends/term-state.ts'
import { MINUTE_MS } from '../../../pipelines/trends/time.ts'
import { byteWriter } from '../../../schemas/codec.ts'

const NOW = 30_000_000
/** WOEIDs of New York, London, the United States and the world. */
const PLACES = [2459115, 44418, 23424977, 1]

const contribution = fc.record({
  place: fc.constantFrom(...PLACES),
  original: fc.constantFrom('#Sandy', 'sandy', 'Straße', '日本', 'x'.repeat(300)),
  minute: fc.oneof(fc.integer({ min: NOW - 130, max: NOW + 6 }), fc.integer({ min: NOW - 1_600, max: NOW })),
  lang: fc.constantFrom('en', '', 'pt-BR', 'und'),
  id: fc.bigInt({ min: 1n, max: 2n ** 62n }),
})
const tracked = fc.uniqueArray(fc.record({ woeid: fc.constantFrom(...PLACES), hour: fc.constant(NOW / 60) }), {
  selector: ({ woeid }) => woeid,
})

test('a row with a single contribution gives the same values with and without decoding its state, and all other rows must be decoded', () => {
  const value = rareTerm.open(0, { get: () => undefined })
  fc.assert(
    fc.property(fc.array(contribution, { minLength: 1, maxLength: 2 }), tracked, fc.boolean(), (all, regions, repeats) => {
      const out = byteWriter()
      for (const { place, original, minute, lang, id } of all) {
        const tweet = { tweet_id: id, user_id: id, created_at: minute * MINUTE_MS + 59_999, lang }
        const cell = newCell({ place, original, minute, tweet, repeats: [] })
        packCell(repeats ? { ...cell, repeats: [{ earlier: minute, later: minute, count: 1, levels: 1 }] } : cell, out)
      }
      const row = new RareTerm(0, packedCells(out.buffer, 0, out.length), regions)
      const bytes = byteWriter()
      value.encode(row, bytes)
      const span = { buffer: bytes.buffer, start: 0, end: bytes.length }
      for (const woeid of PLACES) {
        const only = onlyTweetIn(span, new RareRow().read(span), woeid)
        const state = stateIn(row, woeid)
        if (all.length > 1 || repeats || state === undefined) {
          expect(only).toBeUndefined()
          continue
        }
        for (const lastMinute of [NOW, NOW + 1, NOW + 35, NOW + 59, NOW + 60, NOW + 200]) {
          expect(candidateOfOnly('t', only!, lastMinute)).toEqual(
            candidateOf('t', state, windowCount(state, lastMinute), undefined, lastMinute),
          )
          expect(onlyCountFrom(only!, lastMinute)).toBe(greatestCountFrom(state, lastMinute))
          expect(onlyUnchangedThrough(only!, lastMinute)).toBe(unchangedThrough(state, lastMinute))
        }
      }
    }),
    { numRuns: 1_000 },
  )
})
