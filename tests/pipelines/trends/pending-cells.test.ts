import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addTweet, newCell, type TermCell } from '../../../pipelines/trends/cells.ts'
import { unpackCells } from '../../../pipelines/trends/packed-cells.ts'
import { pendingCells } from '../../../pipelines/trends/pending-cells.ts'

const NOW = 30_000_000
/** More places than the code searches linearly, so that it looks them up in a map. */
const PLACES = Array.from({ length: 12 }, (_, i) => 1_000 + i)

const contribution = fc.record({
  term: fc.constantFrom('a', 'sandy', 'café', '日本', '😀'),
  original: fc.constantFrom('a', '#Sandy', 'CAFÉ', '😀'),
  place: fc.constantFrom(...PLACES),
  minute: fc.integer({ min: NOW - 2, max: NOW }),
  user: fc.bigInt({ min: 1n, max: 30n }),
})

test('the contributions of a term are combined by place, and a second drain returns none of them again', () => {
  const pending = pendingCells()
  fc.assert(
    fc.property(fc.array(contribution, { maxLength: 60, size: 'max' }), fc.constantFrom(0, 1_000_000), (all, fullBytes) => {
      const expected = new Map<string, TermCell[]>()
      for (const [i, { term, original, user, ...rest }] of all.entries()) {
        const tweet = { tweet_id: BigInt(i), user_id: user, created_at: rest.minute * 60_000, lang: 0 }
        const key = Buffer.from(`.${term}.`)
        const spelling = Buffer.from(`${original}.`)
        const more = { ...rest, tweet, repeats: [] }
        pending.add(
          { buffer: key, start: 1, end: key.length - 1 },
          { ...more, original: { buffer: spelling, start: 0, end: spelling.length - 1 } },
        )
        const cells = expected.get(term) ?? []
        expected.set(term, cells)
        const cell = cells.find(({ place }) => place === rest.place)
        if (cell === undefined) cells.push(newCell({ ...more, original }))
        else addTweet(cell, { ...more, original })
      }
      const found = new Map<string, TermCell[]>()
      pending.drain(fullBytes, (term, { buffer, start, end }) => {
        const name = term.buffer.toString('utf8', term.start, term.end)
        found.set(name, [...(found.get(name) ?? []), ...unpackCells(buffer, start, end)])
      })
      expect([...found]).toEqual([...expected])
      pending.drain(fullBytes, () => expect.unreachable())
    }),
  )
})
