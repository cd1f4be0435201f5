import { expect, test } from 'vitest'
import { explanationOf } from '../../../api/recommendations/serve/explanation.ts'

test.each([
  ['Comedy', 'Because you like Comedy'],
  ['', 'Recommended for you'],
])('an item that matches the preference "%s" has the explanation "%s"', (value, text) => {
  const reason = { recType: 'personalized', channel: 'preference', sourceItemId: undefined } as const
  expect(explanationOf(reason, undefined, () => value)).toBe(text)
})
