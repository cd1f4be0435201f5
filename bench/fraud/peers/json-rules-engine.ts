import type { ComparisonOperator, Node } from '../../../schemas/fraud/rules/ast.ts'
import { compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import type { Facts, Lists } from '../../../schemas/fraud/rules/facts.ts'
import type { FieldValue } from '../../../schemas/fraud/rules/field.ts'
import { FIELDS } from '../../../schemas/fraud/rules/fields.ts'
import { formatCondition } from '../../../schemas/fraud/rules/format.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { peerPackage } from './packages.ts'
import type { PeerEngine } from './peer-engine.ts'
import { literalOf, nameOf, type Test, twoValued } from './two-valued.ts'

const VERSION = '7.3.1'

interface Almanac {
  factValue(name: string): Promise<FieldValue | null>
}
interface Engine {
  addOperator(name: string, evaluate: (fact: FieldValue | null, value: never) => boolean): void
  addFact(name: string, value: (parameters: unknown, almanac: Almanac) => Promise<FieldValue | null>): void
  addRule(rule: object): void
  run(facts: object): Promise<{ readonly events: readonly { readonly type: string }[] }>
}
interface Package {
  readonly Engine: new (rules: readonly object[], options: object) => Engine
}

const OPERATORS: Readonly<Record<ComparisonOperator, string>> = {
  '=': 'equal',
  '!=': 'notEqual',
  '<': 'lessThan',
  '<=': 'lessThanInclusive',
  '>': 'greaterThan',
  '>=': 'greaterThanInclusive',
}
const MIRRORED: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '>': '<',
  '<=': '>=',
  '>=': '<=',
}

/**
 * Opens the rules in json-rules-engine. Operands that its language cannot express become computed facts. Tests of texts
 * and lists become custom operators.
 */
export async function openJsonRules(rules: readonly Rule[], lists: Lists): Promise<PeerEngine> {
  const { Engine } = await peerPackage<Package>('json-rules-engine', VERSION)
  const engine = new Engine([], { allowUndefinedFacts: true })
  const computed = new Set<string>()
  const strings = (test: (text: string, part: string) => boolean) => (text: FieldValue | null, part: string) =>
    typeof text === 'string' && test(text, part)
  engine.addOperator('contains text', strings((text, part) => text.includes(part)) as never)
  engine.addOperator('starts with', strings((text, part) => text.startsWith(part)) as never)
  engine.addOperator('ends with', strings((text, part) => text.endsWith(part)) as never)
  engine.addOperator('in list', strings((text, list) => lists.get(list)?.has(text) === true) as never)

  /** Returns the name of the fact that provides an operand. */
  function factOf(node: Node): string {
    if (node.kind === 'field') return nameOf(node)
    const name = formatCondition(node)
    if (!computed.has(name)) {
      computed.add(name)
      engine.addFact(name, (_, almanac) => computeValue(node, almanac))
    }
    return name
  }

  function operandOf(node: Node): unknown {
    return node.kind === 'number' || node.kind === 'string' ? literalOf(node) : { fact: factOf(node) }
  }

  function conditionOf(test: Test): object {
    switch (test.kind) {
      case 'all':
      case 'any':
        return { [test.kind]: test.tests.map(conditionOf) }
      case 'constant':
        return { fact: 'true', operator: 'equal', value: test.value }
      case 'present':
      case 'absent':
        return { fact: test.field, operator: test.kind === 'present' ? 'notEqual' : 'equal', value: null }
      case 'flag':
        return { fact: test.field, operator: 'equal', value: test.value }
      case 'compare': {
        const isMirrored = test.left.kind === 'number' || test.left.kind === 'string'
        const [left, right] = isMirrored ? [test.right, test.left] : [test.left, test.right]
        return { fact: factOf(left), operator: OPERATORS[isMirrored ? MIRRORED[test.operator] : test.operator], value: operandOf(right) }
      }
      case 'in':
        return { fact: factOf(test.operand), operator: test.negated ? 'notIn' : 'in', value: test.values }
      case 'call': {
        const [text, operator, value] = callOf(test.name, test.args)
        const condition = { fact: factOf(text), operator, value }
        return test.negated ? { not: condition } : condition
      }
    }
  }

  for (const { rule_id, condition } of rules) {
    const compiled = compileCondition(condition)
    if (!compiled.ok) throw new Error(`the condition of rule ${rule_id} cannot be compiled: ${condition}`)
    engine.addRule({ conditions: { all: [conditionOf(simplified(twoValued(compiled.condition.node)))] }, event: { type: rule_id } })
  }
  return {
    name: `json-rules-engine ${VERSION}`,
    async matches(facts) {
      const { events } = await engine.run(factsByName(facts))
      return events.map(({ type }) => type)
    },
  }
}

/** Removes tests for presence that the peer's operators perform anyway. Without these tests, the rules are faster. */
function simplified(test: Test): Test {
  if (test.kind !== 'all' && test.kind !== 'any') return test
  const tests = test.tests.map(simplified)
  const checked = new Set(tests.flatMap(checkedBy))
  const kept = test.kind === 'all' ? tests.filter((one) => one.kind !== 'present' || !checked.has(one.field)) : tests
  return kept.length === 1 ? kept[0] : { kind: test.kind, tests: kept }
}

/**
 * Returns the fields whose presence a test implies. In the peer, a comparison with a null fact is false, except for
 * `!=` and `NOT IN`, so it needs no separate test.
 */
function checkedBy(test: Test): string[] {
  if (test.kind === 'compare' && test.operator !== '!=' && test.left.kind === 'field') return [nameOf(test.left)]
  if (test.kind === 'in' && !test.negated && test.operand.kind === 'field') return [nameOf(test.operand)]
  return []
}

function callOf(name: string, args: readonly Node[]): [text: Node, operator: string, value: unknown] {
  if (name === 'inList') return [args[1], 'in list', literalOf(args[0])]
  const operators: Readonly<Record<string, string>> = { contains: 'contains text', startsWith: 'starts with', endsWith: 'ends with' }
  return [args[0], operators[name], literalOf(args[1])]
}

function factsByName(facts: Facts): object {
  return { true: true, ...Object.fromEntries(FIELDS.map(({ name, slot }) => [name, facts[slot] ?? null])) }
}

async function computeValue(node: Node, almanac: Almanac): Promise<FieldValue | null> {
  const of = (child: Node) => computeValue(child, almanac)
  switch (node.kind) {
    case 'number':
    case 'string':
      return node.value
    case 'field':
      return await almanac.factValue(nameOf(node))
    case 'negate': {
      const value = await of(node.operand)
      return value === null ? null : -(value as number)
    }
    case 'arithmetic': {
      const [left, right] = [await of(node.left), await of(node.right)] as [number | null, number | null]
      return left === null || right === null ? null : combine(node.operator, left, right)
    }
    case 'call': {
      const value = await of(node.args[0])
      if (value === null) return null
      return node.name === 'lower' ? (value as string).toLowerCase() : Math.abs(value as number)
    }
    default:
      throw new Error(`${node.kind} is not an operand`)
  }
}

function combine(operator: string, left: number, right: number): number | null {
  const results: Readonly<Record<string, number>> = {
    '+': left + right,
    '-': left - right,
    '*': left * right,
    '/': left / right,
    '%': left % right,
  }
  return Number.isFinite(results[operator]) ? results[operator] : null
}
