import { expect, test } from 'vitest'
import { readJsonBody } from '../../../api/kit/body.ts'
import { assertFewValues } from '../../../api/kit/json-size.ts'

const MIB = 1_048_576
const MOST = 21_845
const check = (value: unknown, maxBytes: number) => () => assertFewValues(Buffer.from(JSON.stringify(value)), maxBytes)
const tooMany = expect.objectContaining({ options: { details: [{ path: 'body', message: `has more than ${MOST} values` }] } })

test.each([
  ['numbers', `[${'0,'.repeat(MOST + 1)}0]`],
  ['objects', `[${'{},'.repeat(MOST)}0]`],
  ['fields', JSON.stringify(Object.fromEntries(Array.from({ length: MOST + 2 }, (_, index) => [`k${index}`, 0])))],
  ['nested lists', '['.repeat(MIB)],
])('a body with too many values is refused before it is parsed: %s', async (_what, body) => {
  await expect(readJsonBody('application/json', async () => Buffer.from(body))).rejects.toEqual(tooMany)
})

test('a route with a higher limit for its body accepts more values, and every route accepts a thousand', () => {
  expect(check(Array(MOST + 2).fill(0), MIB)).toThrow()
  expect(check(Array(MOST + 2).fill(0), 2 * MIB)).not.toThrow()
  expect(check(Array(1_000).fill(0), 64)).not.toThrow()
  expect(check(Array(2_000).fill(0), 64)).toThrow()
})

test('commas and brackets in strings do not count as values', () => {
  expect(check([',[{'.repeat(MIB / 8), '"'.repeat(1_000), `\\",${'\\'.repeat(1_001)}`, '[,{'.repeat(MIB / 8)], MIB)).not.toThrow()
})
