import { type ComparisonOperator, childrenOf, type Node, type NodeOf } from '../../../schemas/fraud/rules/ast.ts'
import { fieldOf } from '../../../schemas/fraud/rules/fields.ts'

/**
 * A condition in two-valued logic, because the peers have no three-valued logic. Each comparison also tests that all of
 * its fields are present, so the result is true if and only if the condition is true in Millrace's three-valued logic.
 */
export type Test =
  | { readonly kind: 'all' | 'any'; readonly tests: readonly Test[] }
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'present' | 'absent'; readonly field: string }
  | { readonly kind: 'flag'; readonly field: string; readonly value: boolean }
  | { readonly kind: 'compare'; readonly operator: ComparisonOperator; readonly left: Node; readonly right: Node }
  | { readonly kind: 'in'; readonly operand: Node; readonly values: readonly (number | string)[]; readonly negated: boolean }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Node[]; readonly negated: boolean }

const OPPOSITES: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '!=',
  '!=': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
}

/**
 * Returns a test that is true if and only if the condition has the value `wanted`. If the condition is neither true nor
 * false, because a value that it depends on is missing, the test is false.
 */
export function twoValued(node: Node, wanted = true): Test {
  switch (node.kind) {
    case 'boolean':
      return { kind: 'constant', value: node.value === wanted }
    case 'field':
      return { kind: 'flag', field: nameOf(node), value: wanted }
    case 'not':
      return twoValued(node.operand, !wanted)
    case 'and':
    case 'or':
      return { kind: (node.kind === 'and') === wanted ? 'all' : 'any', tests: node.operands.map((operand) => twoValued(operand, wanted)) }
    case 'comparison':
      return guarded(node, {
        kind: 'compare',
        operator: wanted ? node.operator : OPPOSITES[node.operator],
        left: node.left,
        right: node.right,
      })
    case 'between':
      return between(node, wanted !== node.negated)
    case 'in':
      return guarded(node, { kind: 'in', operand: node.operand, values: node.items.map(literalOf), negated: wanted === node.negated })
    case 'missing':
      return { kind: wanted === node.negated ? 'present' : 'absent', field: nameOf(node.operand) }
    case 'call':
      return guarded(node, { kind: 'call', name: node.name, args: node.args, negated: !wanted })
    default:
      throw new Error(`${node.kind} is not a condition`)
  }
}

function between(node: NodeOf<'between'>, wanted: boolean): Test {
  const { operand, low, high } = node
  const bounds: Test[] = [
    { kind: 'compare', operator: wanted ? '>=' : '<', left: operand, right: low },
    { kind: 'compare', operator: wanted ? '<=' : '>', left: operand, right: high },
  ]
  return guarded(node, { kind: wanted ? 'all' : 'any', tests: bounds })
}

/** Adds tests to a comparison: all of its fields must be present, and no divisor may be zero. */
function guarded(node: Node, test: Test): Test {
  const present = [...fieldsOf(node)].map((field): Test => ({ kind: 'present', field }))
  const zero: Node = { kind: 'number', value: 0, start: 0, end: 0 }
  const divided = divisorsOf(node).map((right): Test => ({ kind: 'compare', operator: '!=', left: right, right: zero }))
  return { kind: 'all', tests: [...present, ...divided, test] }
}

/** Returns the names of the fields that a node reads. */
export function fieldsOf(node: Node, found = new Set<string>()): Set<string> {
  if (node.kind === 'field') found.add(nameOf(node))
  for (const child of childrenOf(node)) fieldsOf(child, found)
  return found
}

function divisorsOf(node: Node): Node[] {
  const own = node.kind === 'arithmetic' && (node.operator === '/' || node.operator === '%') ? [node.right] : []
  return [...own, ...childrenOf(node).flatMap(divisorsOf)]
}

/** Returns the canonical name of a field. The rule may use an alias. */
export function nameOf(node: Node): string {
  if (node.kind !== 'field') throw new Error(`${node.kind} is not a field`)
  return fieldOf(node.name)!.name
}

export function literalOf(node: Node): number | string {
  if (node.kind === 'number' || node.kind === 'string') return node.value
  throw new Error(`${node.kind} is not a literal`)
}
