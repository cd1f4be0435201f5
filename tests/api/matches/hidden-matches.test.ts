import { expect, test } from 'vitest'
import { hiddenMatches } from '../../../api/matches/hidden-matches.ts'

test('after the clock was set back, matches are checked again, and the earlier result is not used', async () => {
  let now = 3_600_000
  const shown = new Map<string, never>([['b', undefined as never]])
  const hidden = hiddenMatches({ people: { listed: async () => shown }, now: () => now })
  const matches = [{ otherId: 'b', matchedAt: 0 }]
  expect(await hidden.of('a', matches)).toEqual(new Set())
  shown.clear()
  now = 0
  expect(await hidden.of('a', matches)).toEqual(new Set(['b']))
})
