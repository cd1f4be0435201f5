import type { ArithmeticOperator, Node } from './ast.ts'
import type { Facts } from './facts.ts'
import { fieldOf } from './fields.ts'
import { FUNCTIONS } from './functions.ts'

/** Computes a number. NaN represents a missing value, so arithmetic needs no test for missing operands. */
export type NumberOf = (facts: Facts) => number
export type StringOf = (facts: Facts) => string | undefined

/** Returns the kind of value that an expression has. The kind determines which function compiles the expression. */
export function kindOf(node: Node): 'number' | 'string' | 'boolean' {
  switch (node.kind) {
    case 'number':
    case 'negate':
    case 'arithmetic':
      return 'number'
    case 'string':
      return 'string'
    case 'field': {
      const { type } = fieldOf(node.name)!
      return type === 'number' || type === 'boolean' ? type : 'string'
    }
    case 'call':
      return FUNCTIONS.get(node.name)!.result
    default:
      return 'boolean'
  }
}

/** Returns the value of a number literal, with or without a sign; undefined for any other node. */
export function constantNumber(node: Node): number | undefined {
  if (node.kind === 'number') return node.value
  if (node.kind !== 'negate') return undefined
  const value = constantNumber(node.operand)
  return value === undefined ? undefined : -value
}

/** Compiles an expression of kind number. */
export function number(node: Node): NumberOf {
  const constant = constantNumber(node)
  if (constant !== undefined) return () => constant
  switch (node.kind) {
    case 'field': {
      const { slot } = fieldOf(node.name)!
      return function readNumber(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? value : Number.NaN
      }
    }
    case 'negate': {
      const read = number(node.operand)
      return (facts) => -read(facts)
    }
    case 'arithmetic':
      return arithmetic(node.operator, number(node.left), number(node.right))
    case 'call': {
      const read = number(node.args[0])
      return (facts) => Math.abs(read(facts))
    }
    default:
      throw new Error(`The check should have rejected a ${node.kind} as a number.`)
  }
}

/** Compiles an arithmetic expression. After a division by zero or an overflow, the value is missing. */
function arithmetic(operator: ArithmeticOperator, readLeft: NumberOf, readRight: NumberOf): NumberOf {
  switch (operator) {
    case '+':
      return (facts) => finite(readLeft(facts) + readRight(facts))
    case '-':
      return (facts) => finite(readLeft(facts) - readRight(facts))
    case '*':
      return (facts) => finite(readLeft(facts) * readRight(facts))
    case '/':
      return (facts) => finite(readLeft(facts) / readRight(facts))
    case '%':
      return (facts) => readLeft(facts) % readRight(facts)
  }
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN
}

/** Compiles an expression of kind string. */
export function string(node: Node): StringOf {
  switch (node.kind) {
    case 'string': {
      const { value } = node
      return () => value
    }
    case 'field': {
      const { slot } = fieldOf(node.name)!
      return function readString(facts) {
        const value = facts[slot]
        return typeof value === 'string' ? value : undefined
      }
    }
    case 'call': {
      const read = string(node.args[0])
      return (facts) => read(facts)?.toLowerCase()
    }
    default:
      throw new Error(`The check should have rejected a ${node.kind} as a string.`)
  }
}
