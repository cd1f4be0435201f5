import type { ComparisonOperator, Node } from '../../../schemas/fraud/rules/ast.ts'
import { compileCondition } from '../../../schemas/fraud/rules/compile.ts'
import type { Facts, Lists } from '../../../schemas/fraud/rules/facts.ts'
import { FIELDS } from '../../../schemas/fraud/rules/fields.ts'
import type { Rule } from '../../../schemas/fraud/rules/rule.ts'
import { peerPackage } from './packages.ts'
import type { PeerEngine } from './peer-engine.ts'
import { literalOf, nameOf, type Test, twoValued } from './two-valued.ts'

const VERSION = '0.54.0'

interface Decision {
  evaluate(context: object): Promise<{ readonly result: unknown }>
}
interface Package {
  readonly ZenEngine: new () => { createDecision(content: object): Decision }
}

const OPERATORS: Readonly<Record<ComparisonOperator, string>> = { '=': '==', '!=': '!=', '<': '<', '<=': '<=', '>': '>', '>=': '>=' }
const LIST_FIELD = 'list'

/**
 * Opens the rules in ZEN, as a decision table with one row per rule. The table returns all matching rows. ZEN's
 * expressions can read a list only if the list is passed with every transaction, so this function evaluates `inList`
 * itself and passes the results.
 */
export async function openZen(rules: readonly Rule[], lists: Lists): Promise<PeerEngine> {
  const { ZenEngine } = await peerPackage<Package>('@gorules/zen-engine', VERSION)
  const listCalls = new Map<string, { readonly list: string; readonly slot: number }>()

  function expressionOf(test: Test): string {
    switch (test.kind) {
      case 'all':
      case 'any':
        if (test.tests.length === 1) return expressionOf(test.tests[0])
        return `(${test.tests.map(expressionOf).join(test.kind === 'all' ? ' and ' : ' or ')})`
      case 'constant':
        return String(test.value)
      case 'present':
      case 'absent':
        return `${test.field} ${test.kind === 'present' ? '!=' : '=='} null`
      case 'flag':
        return `${test.field} == ${test.value}`
      case 'compare':
        return `${operandOf(test.left)} ${OPERATORS[test.operator]} ${operandOf(test.right)}`
      case 'in':
        return `${operandOf(test.operand)} ${test.negated ? 'not in' : 'in'} [${test.values.map(textOf).join(', ')}]`
      case 'call':
        return test.negated ? `not (${callOf(test.name, test.args)})` : callOf(test.name, test.args)
    }
  }

  function callOf(name: string, args: readonly Node[]): string {
    if (name !== 'inList') return `${name}(${operandOf(args[0])}, ${textOf(literalOf(args[1]))})`
    const key = `l${listCalls.size}`
    const slot = FIELDS.find((field) => field.name === nameOf(args[1]))!.slot
    listCalls.set(key, { list: String(literalOf(args[0])), slot })
    return `${LIST_FIELD}.${key} == true`
  }

  const rows = rules.map(({ rule_id, condition }, index) => {
    const compiled = compileCondition(condition)
    if (!compiled.ok) throw new Error(`the condition of rule ${rule_id} cannot be compiled: ${condition}`)
    return { _id: `r${index}`, when: expressionOf(twoValued(compiled.condition.node)), rule: textOf(rule_id) }
  })
  const decision = new ZenEngine().createDecision(tableOf(rows))
  return {
    name: `@gorules/zen-engine ${VERSION}`,
    async matches(facts) {
      const listResults = [...listCalls].map(([key, { list, slot }]) => [key, lists.get(list)?.has(facts[slot] as string) === true])
      const { result } = await decision.evaluate({ ...contextOf(facts), [LIST_FIELD]: Object.fromEntries(listResults) })
      return (result as readonly { readonly rule: string }[]).map(({ rule }) => rule)
    },
  }
}

function tableOf(rules: readonly object[]): object {
  const table = {
    hitPolicy: 'collect',
    inputs: [{ id: 'when', name: 'when' }],
    outputs: [{ id: 'rule', name: 'rule', field: 'rule' }],
    rules,
  }
  return {
    nodes: [
      { id: 'in', type: 'inputNode', name: 'in', position: { x: 0, y: 0 } },
      { id: 'table', type: 'decisionTableNode', name: 'table', position: { x: 0, y: 0 }, content: table },
      { id: 'out', type: 'outputNode', name: 'out', position: { x: 0, y: 0 } },
    ],
    edges: [
      { id: 'a', type: 'edge', sourceId: 'in', targetId: 'table' },
      { id: 'b', type: 'edge', sourceId: 'table', targetId: 'out' },
    ],
  }
}

function operandOf(node: Node): string {
  switch (node.kind) {
    case 'number':
    case 'string':
      return textOf(node.value)
    case 'field':
      return nameOf(node)
    case 'negate':
      return `(-${operandOf(node.operand)})`
    case 'arithmetic':
      return `(${operandOf(node.left)} ${node.operator} ${operandOf(node.right)})`
    case 'call':
      return `${node.name}(${node.args.map(operandOf).join(', ')})`
    default:
      throw new Error(`${node.kind} is not an operand`)
  }
}

function textOf(value: number | string): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Returns the facts as nested objects, because ZEN reads the dotted name of a field as a path. */
function contextOf(facts: Facts): Record<string, unknown> {
  const context: Record<string, unknown> = {}
  for (const { name, slot } of FIELDS) {
    const parts = name.split('.')
    let parent = context
    for (const part of parts.slice(0, -1)) {
      parent[part] ??= {}
      parent = parent[part] as Record<string, unknown>
    }
    parent[parts.at(-1)!] = facts[slot] ?? null
  }
  return context
}
