import type { Node } from '../../../../schemas/fraud/rules/ast.ts'
import type { FactsByName, Lists } from '../../../../schemas/fraud/rules/facts.ts'
import { fieldOf } from '../../../../schemas/fraud/rules/fields.ts'

type Value = number | string | boolean | undefined

/** Evaluates a condition by walking its tree. The semantics are defined in docs/services/fraud.md#missing-values. */
export function naiveValue(node: Node, facts: FactsByName, lists: Lists): Value {
  const of = (child: Node) => naiveValue(child, facts, lists)
  switch (node.kind) {
    case 'number':
    case 'string':
    case 'boolean':
      return node.value
    case 'field':
      return (facts as Record<string, Value>)[fieldOf(node.name)!.name]
    case 'negate':
      return onNumbers([of(node.operand)], (value) => -value)
    case 'arithmetic':
      return onNumbers([of(node.left), of(node.right)], ARITHMETIC[node.operator])
    case 'comparison':
      return compare(node.operator, of(node.left), of(node.right))
    case 'in':
      return negateIf(node.negated, or(node.items.map((item) => compare('=', of(node.operand), of(item)))))
    case 'between': {
      const value = of(node.operand)
      return negateIf(node.negated, and([compare('>=', value, of(node.low)), compare('<=', value, of(node.high))]))
    }
    case 'missing':
      return (of(node.operand) === undefined) !== node.negated
    case 'not':
      return negateIf(true, of(node.operand))
    case 'and':
      return and(node.operands.map(of))
    case 'or':
      return or(node.operands.map(of))
    case 'call':
      return call(node.name, node.args.map(of), lists)
  }
}

const ARITHMETIC = {
  '+': (left: number, right: number) => left + right,
  '-': (left: number, right: number) => left - right,
  '*': (left: number, right: number) => left * right,
  '/': (left: number, right: number) => left / right,
  '%': (left: number, right: number) => left % right,
}

function onNumbers(values: Value[], combine: (...numbers: number[]) => number): Value {
  if (values.includes(undefined)) return undefined
  const result = combine(...(values as number[]))
  return Number.isFinite(result) ? result : undefined
}

function compare(operator: string, left: Value, right: Value): Value {
  if (left === undefined || right === undefined) return undefined
  switch (operator) {
    case '=':
      return left === right
    case '!=':
      return left !== right
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    default:
      return left >= right
  }
}

function negateIf(negated: boolean, value: Value): Value {
  return value === undefined || !negated ? value : !value
}

function and(values: Value[]): Value {
  if (values.includes(false)) return false
  return values.includes(undefined) ? undefined : true
}

function or(values: Value[]): Value {
  if (values.includes(true)) return true
  return values.includes(undefined) ? undefined : false
}

function call(name: string, args: Value[], lists: Lists): Value {
  if (args.includes(undefined)) return undefined
  const [first, second] = args as string[]
  switch (name) {
    case 'abs':
      return Math.abs(args[0] as number)
    case 'lower':
      return first.toLowerCase()
    case 'contains':
      return first.includes(second)
    case 'startsWith':
      return first.startsWith(second)
    case 'endsWith':
      return first.endsWith(second)
    default:
      return lists.get(first)?.has(second)
  }
}
