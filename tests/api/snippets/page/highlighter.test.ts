import { expect, test } from 'vitest'
import { highlighterWith, SLOW_FOR_MS } from '../../../../api/snippets/page/highlighter.ts'

const START = 1_000

test('if highlighting a text took too long, the text is not highlighted again for ten minutes, so that other pages do not wait', async () => {
  const clock = { now: START }
  const tried: string[] = []
  const { highlight } = highlighterWith(
    (onSlow) => ({
      async ask(request) {
        tried.push(`${request.language}: ${request.text}`)
        if (request.text !== 'slow') return request.text
        onSlow(request)
        return undefined
      },
      close: async () => undefined,
    }),
    () => clock.now,
  )
  expect(await highlight('slow', 'javascript')).toBeUndefined()
  clock.now = START + SLOW_FOR_MS
  expect(await highlight('slow', 'javascript')).toBeUndefined()
  expect(await highlight('quick', 'javascript')).toBe('quick')
  expect(tried).toEqual(['javascript: slow', 'javascript: quick'])
  await highlight('slow', 'python')
  clock.now = START + SLOW_FOR_MS + 1
  await highlight('slow', 'javascript')
  expect(tried.slice(2)).toEqual(['python: slow', 'javascript: slow'])
})
