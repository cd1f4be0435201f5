import fc from 'fast-check'
import type { ArithmeticOperator, ComparisonOperator, Node } from '../../../../schemas/fraud/rules/ast.ts'
import type { FactsByName } from '../../../../schemas/fraud/rules/facts.ts'

/** Position of every node in generated trees, because these trees have no source text. */
const NOWHERE = { start: 0, end: 0 }

const NUMBERS = [0, 0.5, 1, 2, 3, 1e-7, 1e21, 1e308]
const STRINGS = ['', 'a', 'A', 'ab', "it's", '"\\\n\u0007', 'ß😀']
const COUNTRIES = ['DE', 'US']
const NUMBER_FIELDS = ['txn.amount', 'velocity.user.txn_count_1h', 'geo.travel_severity', 'features.user_velocity_24h'] as const
const STRING_FIELDS = ['payee.merchant_category', 'payment.issuer_bank', 'device.user_agent'] as const
const COUNTRY_FIELDS = ['payer.country', 'payment.bin_country'] as const
const BOOLEAN_FIELDS = ['ip.is_tor', 'geo.impossible_travel'] as const
const LISTS = ['known', 'absent']
const MAX_TREE_DEPTH = 5

/** The lists in the property tests. Some conditions refer to the list `absent`, which does not exist. */
export const TEST_LISTS = new Map([['known', new Set(['a', 'DE', ''])]])

const field = (name: string): Node => ({ kind: 'field', name, ...NOWHERE })
const string = (value: string): Node => ({ kind: 'string', value, ...NOWHERE })
const fieldsOf = (names: readonly string[]) => fc.constantFrom(...names).map(field)
const country: fc.Arbitrary<Node> = fc.oneof(fieldsOf(COUNTRY_FIELDS), fc.constantFrom(...COUNTRIES).map(string))
const comparisons = fc.constantFrom<ComparisonOperator>('=', '!=', '<', '<=', '>', '>=')
const equalities = fc.constantFrom<ComparisonOperator>('=', '!=')

const trees = fc.letrec<{ number: Node; string: Node; condition: Node }>((tie) => {
  const textPair = fc.oneof(fc.tuple(tie('string'), tie('string')), fc.tuple(country, country))
  const values = fc.oneof(tie('number'), tie('string'), country)
  return {
    number: fc.oneof(
      { maxDepth: MAX_TREE_DEPTH, depthIdentifier: 'tree' },
      fieldsOf(NUMBER_FIELDS),
      fc.constantFrom(...NUMBERS).map((value): Node => ({ kind: 'number', value, ...NOWHERE })),
      tie('number').map((operand): Node => ({ kind: 'negate', operand, ...NOWHERE })),
      tie('number').map((operand): Node => ({ kind: 'call', name: 'abs', args: [operand], ...NOWHERE })),
      fc
        .tuple(fc.constantFrom<ArithmeticOperator>('+', '-', '*', '/', '%'), tie('number'), tie('number'))
        .map(([operator, left, right]): Node => ({ kind: 'arithmetic', operator, left, right, ...NOWHERE })),
    ),
    string: fc.oneof(
      { maxDepth: MAX_TREE_DEPTH, depthIdentifier: 'tree' },
      fieldsOf(STRING_FIELDS),
      fc.constantFrom(...STRINGS).map(string),
      tie('string').map((operand): Node => ({ kind: 'call', name: 'lower', args: [operand], ...NOWHERE })),
    ),
    condition: fc.oneof(
      { maxDepth: MAX_TREE_DEPTH, depthIdentifier: 'tree' },
      fieldsOf(BOOLEAN_FIELDS),
      fc.boolean().map((value): Node => ({ kind: 'boolean', value, ...NOWHERE })),
      fc
        .tuple(comparisons, tie('number'), tie('number'))
        .map(([operator, left, right]): Node => ({ kind: 'comparison', operator, left, right, ...NOWHERE })),
      fc
        .tuple(equalities, fc.oneof(textPair, fc.tuple(tie('condition'), tie('condition'))))
        .map(([operator, [left, right]]): Node => ({ kind: 'comparison', operator, left, right, ...NOWHERE })),
      fc
        .tuple(fc.boolean(), fc.constantFrom('number', 'string', 'condition'))
        .chain(([negated, kind]) =>
          fc
            .tuple(tie(kind as 'number'), fc.array(tie(kind as 'number'), { minLength: 1, maxLength: 3 }))
            .map(([operand, items]): Node => ({ kind: 'in', negated, operand, items, ...NOWHERE })),
        ),
      fc
        .tuple(fc.boolean(), tie('number'), tie('number'), tie('number'))
        .map(([negated, operand, low, high]): Node => ({ kind: 'between', negated, operand, low, high, ...NOWHERE })),
      fc
        .tuple(fc.boolean(), fc.oneof(values, tie('condition')))
        .map(([negated, operand]): Node => ({ kind: 'missing', negated, operand, ...NOWHERE })),
      fc
        .tuple(fc.constantFrom('contains', 'startsWith', 'endsWith'), tie('string'), tie('string'))
        .map(([name, text, part]): Node => ({ kind: 'call', name, args: [text, part], ...NOWHERE })),
      fc
        .tuple(fc.constantFrom(...LISTS), fc.oneof(tie('string'), country))
        .map(([list, value]): Node => ({ kind: 'call', name: 'inList', args: [string(list), value], ...NOWHERE })),
      tie('condition').map((operand): Node => ({ kind: 'not', operand, ...NOWHERE })),
      fc
        .tuple(fc.constantFrom('and', 'or'), fc.array(tie('condition'), { minLength: 2, maxLength: 4 }))
        .map(([kind, operands]): Node => ({ kind: kind as 'and' | 'or', operands, ...NOWHERE })),
    ),
  }
})

/** Generates conditions that pass the type check. The position of all their nodes is `NOWHERE`. */
export const conditions: fc.Arbitrary<Node> = trees.condition

/** Generates the facts about a transaction. Any of the facts may be missing. */
export const facts: fc.Arbitrary<FactsByName> = fc.record(
  {
    'txn.amount': fc.constantFrom(...NUMBERS, -1, -2),
    'velocity.user.txn_count_1h': fc.constantFrom(0, 1, 2, 3),
    'velocity.user.txn_count_24h': fc.constantFrom(0, 1, 2, 3),
    'geo.travel_severity': fc.constantFrom(0, 0.5, 1),
    'payee.merchant_category': fc.constantFrom(...STRINGS),
    'payment.issuer_bank': fc.constantFrom(...STRINGS),
    'device.user_agent': fc.constantFrom(...STRINGS),
    'payer.country': fc.constantFrom(...COUNTRIES),
    'payment.bin_country': fc.constantFrom(...COUNTRIES),
    'ip.is_tor': fc.boolean(),
    'geo.impossible_travel': fc.boolean(),
  },
  { requiredKeys: [] },
)

/** Returns a copy of a tree without source positions. */
export function withoutPositions(node: Node): unknown {
  return JSON.parse(JSON.stringify(node, (key, value) => (key === 'start' || key === 'end' ? undefined : value)))
}
