import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileCondition } from '../../../../schemas/fraud/rules/compile.ts'
import { factsOf } from '../../../../schemas/fraud/rules/facts.ts'
import { formatCondition } from '../../../../schemas/fraud/rules/format.ts'
import { MAX_CONDITION_CHARACTERS, parseCondition } from '../../../../schemas/fraud/rules/parse.ts'
import { endsInTime } from '../../../ends-in-time.ts'
import { conditions, facts, TEST_LISTS, withoutPositions } from './conditions.ts'
import { naiveValue } from './naive.ts'

const RUNS = 2_000
/**
 * Size limit for canonical text. It is higher than the limit for authors, because canonical text may be longer than the
 * original.
 */
const NO_LIMIT = 1_000_000

test('parsing the canonical form of a tree gives the same tree', () => {
  fc.assert(
    fc.property(conditions, (node) => {
      const text = formatCondition(node)
      const parsed = parseCondition(text, NO_LIMIT)
      expect(parsed, text).toHaveProperty('node')
      if (parsed.ok) expect(withoutPositions(parsed.node)).toEqual(withoutPositions(node))
    }),
    { numRuns: RUNS },
  )
})

test('compiled conditions agree with a naive interpreter in three-valued logic', () => {
  const seen = new Set<unknown>()
  fc.assert(
    fc.property(conditions, facts, (node, values) => {
      const text = formatCondition(node)
      fc.pre(text.length <= MAX_CONDITION_CHARACTERS)
      const compiled = compileCondition(text)
      expect(compiled, text).toHaveProperty('condition')
      if (!compiled.ok) return
      const expected = naiveValue(node, values, TEST_LISTS)
      seen.add(expected)
      expect(compiled.condition.evaluate(factsOf(values), TEST_LISTS), text).toBe(expected)
    }),
    { numRuns: 5 * RUNS },
  )
  expect(seen).toEqual(new Set([true, false, undefined]))
})

/** Checks that a text gives either a condition or faults whose positions are within the text. */
function expectConditionOrFaults(text: string): void {
  const compiled = compileCondition(text)
  if (compiled.ok) {
    expect([true, false, undefined]).toContain(compiled.condition.evaluate(factsOf({}), TEST_LISTS))
    return
  }
  expect(compiled.faults.length).toBeGreaterThan(0)
  const lines = text.split(/\r\n|\n|\r/)
  for (const fault of compiled.faults) {
    expect(fault.start).toBeGreaterThanOrEqual(0)
    expect(fault.end).toBeGreaterThanOrEqual(fault.start)
    expect(fault.end).toBeLessThanOrEqual(text.length)
    expect(fault.line).toBeLessThanOrEqual(lines.length)
    expect(fault.column).toBeLessThanOrEqual([...lines[fault.line - 1]].length + 1)
    expect(fault.message).toMatch(/\.$/)
    expect(fault.expected.length).toBeGreaterThan(0)
  }
}

test('any text gives a condition or faults with positions', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), expectConditionOrFaults), { numRuns: RUNS })
})

const WORDS = [
  ...['AND', 'or', 'NOT', 'IN', 'BETWEEN', 'IS', 'MISSING', 'TRUE', '(', ')', ',', '-', '+', '*', '/', '%', '=', '!=', '<', '>='],
  ...['txn.amount', 'payer.country', 'ip.is_tor', 'txn.amonut', '__proto__', 'abs(', 'inList(', "'DE'", "'", '"', '1', '1e9', '\n', '&'],
]

test('any sequence of words gives a condition or faults with positions', () => {
  const texts = fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join(' '))
  fc.assert(fc.property(texts, expectConditionOrFaults), { numRuns: RUNS })
})

test('any condition text with a part removed, inserted or replaced gives a condition or faults with positions', () => {
  const damaged = fc.tuple(conditions, fc.nat(), fc.nat(20), fc.constantFrom('', ...WORDS)).map(([node, at, length, insert]) => {
    const text = formatCondition(node)
    const start = at % (text.length + 1)
    return text.slice(0, start) + insert + text.slice(start + length)
  })
  fc.assert(fc.property(damaged, expectConditionOrFaults), { numRuns: RUNS })
})

test.each([
  ['parentheses', '('.repeat(4_000)],
  ['NOT', 'NOT '.repeat(1_000)],
  ['minus', '-'.repeat(4_000)],
  ['calls', 'abs('.repeat(1_000)],
  ['a sum', `1${'+1'.repeat(1_999)}`],
  ['one long name', 'a'.repeat(4_000)],
  ['many unknown names', `ab.cd${' OR user.txn_count_1x'.repeat(180)}`],
  ['long unknown names', `a${` OR ${'user.txn'.repeat(7)}`.repeat(60)}`],
  ['a list', `txn.amount IN (${'1,'.repeat(1_900)}1)`],
  ['alternatives', `ip.is_tor${' OR ip.is_tor'.repeat(300)}`],
  ['an unfinished string', `'${'\\n'.repeat(1_999)}`],
  ['a million characters', '('.repeat(1_000_000)],
])('compiling a hostile condition of %s ends in time', (_, text) => {
  // Parsing takes about 1 ms for 4,000 characters. Exponential parsing would not end.
  endsInTime(() => expectConditionOrFaults(text))
})
