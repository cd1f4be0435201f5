import { expect, test } from 'vitest'
import type { DeadLetterRecord } from '../../../pipelines/engine/index.ts'
import { formatDeadLetter, formatSummary } from '../../../tools/dlq/format.ts'

/**
 * Control sequences that clear a terminal's screen. The first begins with ESC and a bracket, and the second with the
 * single character CSI.
 */
const CLEAR = '\u001b[2J\u009b2J'

const letter: DeadLetterRecord = {
  offset: 7,
  timestamp: 0,
  source: { topic: 'swipes', partition: 0, offset: 3 },
  code: `bad${CLEAR}`,
  message: `no JSON: ${CLEAR}\ncode: fine`,
  processor: `read${CLEAR}`,
  key: Buffer.from('\u009b2J'),
  value: Buffer.from(CLEAR),
  headers: [{ key: CLEAR, value: Buffer.from('a') }],
  replays: 0,
  replayed: false,
  cut: undefined,
}

test('a summary counts the dead letters that are not replayed, and shows the offset of one letter or the range of several', () => {
  const [one, two, three] = [7, 8, 9].map((offset) => ({ ...letter, offset, code: offset === 7 ? 'no_key' : 'no_value', processor: '' }))
  expect(formatSummary('matches', [one])).toBe('matches: 1 dead letter\n  no_key: 1, offset 7\n')
  expect(formatSummary('matches', [one, two, three])).toBe(
    'matches: 3 dead letters\n  no_key: 1, offset 7\n  no_value: 2, offsets 8 to 9\n',
  )
  expect(formatSummary('matches', [{ ...one, replayed: true }])).toBe('matches: 0 dead letters\n  replayed: 1\n')
})

test('control characters in a record affect neither the terminal nor the other lines of the output', () => {
  const text = formatDeadLetter(letter, () => ({ name: CLEAR })) + formatSummary('matches', [letter])
  expect(text).not.toMatch(/[^\P{Cc}\n]/u)
  expect(text.split('\n').filter((line) => line.startsWith('code: '))).toEqual(['code: bad\\u001b[2J\\u009b2J'])
  expect(text).toContain('value: {\n  "name": "\\u001b[2J\\u009b2J"\n}\n')
})
