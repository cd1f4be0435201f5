import type { ComparisonOperator, Node, NodeOf } from './ast.ts'
import type { Facts, Lists } from './facts.ts'
import { fieldOf } from './fields.ts'
import { constantNumber, kindOf, type NumberOf, number, type StringOf, string } from './values.ts'

/** The value of a condition in three-valued logic. `undefined` means that the result depends on a missing value. */
export type Truth = boolean | undefined

export type TruthOf = (facts: Facts, lists: Lists) => Truth

/** Compiles a checked condition. */
export function truth(node: Node): TruthOf {
  switch (node.kind) {
    case 'boolean': {
      const { value } = node
      return () => value
    }
    case 'field':
      return booleanField(node)
    case 'call':
      return predicateCall(node)
    case 'comparison':
      return comparison(node)
    case 'in':
      return negatedIf(node.negated, isIn(node))
    case 'between':
      return negatedIf(node.negated, between(node))
    case 'missing':
      return isMissing(node)
    case 'not':
      return negatedIf(true, truth(node.operand))
    case 'and':
      return all(node.operands.map(truth))
    case 'or':
      return any(node.operands.map(truth))
    default:
      throw new Error(`The check should have rejected a ${node.kind} as a condition.`)
  }
}

function booleanField(node: NodeOf<'field'>): TruthOf {
  const { slot } = fieldOf(node.name)!
  return function readBoolean(facts) {
    const value = facts[slot]
    return typeof value === 'boolean' ? value : undefined
  }
}

function negatedIf(negated: boolean, operand: TruthOf): TruthOf {
  if (!negated) return operand
  return function not(facts, lists) {
    const value = operand(facts, lists)
    return value === undefined ? undefined : !value
  }
}

/** Compiles AND. The result is false if any operand is false, and otherwise missing if any operand is missing. */
function all(operands: readonly TruthOf[]): TruthOf {
  return function and(facts, lists) {
    let result: Truth = true
    for (let index = 0; index < operands.length; index++) {
      const value = operands[index](facts, lists)
      if (value === false) return false
      if (value === undefined) result = undefined
    }
    return result
  }
}

/** Compiles OR. The result is true if any operand is true, and otherwise missing if any operand is missing. */
function any(operands: readonly TruthOf[]): TruthOf {
  return function or(facts, lists) {
    let result: Truth = false
    for (let index = 0; index < operands.length; index++) {
      const value = operands[index](facts, lists)
      if (value === true) return true
      if (value === undefined) result = undefined
    }
    return result
  }
}

function isMissing({ operand, negated }: NodeOf<'missing'>): TruthOf {
  const kind = kindOf(operand)
  if (kind === 'number') {
    const read = number(operand)
    return (facts) => Number.isNaN(read(facts)) !== negated
  }
  if (kind === 'string') {
    const read = string(operand)
    return (facts) => (read(facts) === undefined) !== negated
  }
  const read = truth(operand)
  return (facts, lists) => (read(facts, lists) === undefined) !== negated
}

function comparison({ operator, left, right }: NodeOf<'comparison'>): TruthOf {
  if (kindOf(left) === 'number') {
    const constant = constantNumber(right)
    if (left.kind === 'field' && constant !== undefined) return fieldCompares(operator, fieldOf(left.name)!.slot, constant)
    return numbersCompare(operator, number(left), number(right))
  }
  return negatedIf(operator === '!=', equal(left, right))
}

/**
 * Compiles the comparison of two operands of the same kind for equality. The result is missing if an operand is
 * missing.
 */
function equal(left: Node, right: Node): TruthOf {
  switch (kindOf(left)) {
    case 'number':
      return numbersCompare('=', number(left), number(right))
    case 'string': {
      const [readLeft, readRight] = [string(left), string(right)]
      return function sameString(facts) {
        const one = readLeft(facts)
        if (one === undefined) return undefined
        const other = readRight(facts)
        return other === undefined ? undefined : one === other
      }
    }
    case 'boolean': {
      const [readLeft, readRight] = [truth(left), truth(right)]
      return function sameTruth(facts, lists) {
        const one = readLeft(facts, lists)
        if (one === undefined) return undefined
        const other = readRight(facts, lists)
        return other === undefined ? undefined : one === other
      }
    }
  }
}

/**
 * Compiles the comparison of a numeric field with a constant into a single closure, without closures for the operands.
 * Most comparisons have this form.
 */
function fieldCompares(operator: ComparisonOperator, slot: number, constant: number): TruthOf {
  const holds = COMPARE[operator]
  switch (operator) {
    case '>':
      return function above(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? value > constant : undefined
      }
    case '>=':
      return function atLeast(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? value >= constant : undefined
      }
    case '<':
      return function below(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? value < constant : undefined
      }
    case '<=':
      return function atMost(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? value <= constant : undefined
      }
    default:
      return function compareField(facts) {
        const value = facts[slot]
        return typeof value === 'number' ? holds(value, constant) : undefined
      }
  }
}

function numbersCompare(operator: ComparisonOperator, readLeft: NumberOf, readRight: NumberOf): TruthOf {
  const holds = COMPARE[operator]
  return function compareNumbers(facts) {
    const left = readLeft(facts)
    const right = readRight(facts)
    return Number.isNaN(left) || Number.isNaN(right) ? undefined : holds(left, right)
  }
}

const COMPARE: Readonly<Record<ComparisonOperator, (left: number, right: number) => boolean>> = {
  '=': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '<=': (left, right) => left <= right,
  '>': (left, right) => left > right,
  '>=': (left, right) => left >= right,
}

/** Compiles BETWEEN. In three-valued logic, the result equals that of `low <= operand AND operand <= high`. */
function between({ operand, low, high }: NodeOf<'between'>): TruthOf {
  const [read, readLow, readHigh] = [number(operand), number(low), number(high)]
  return function isBetween(facts) {
    const value = read(facts)
    if (Number.isNaN(value)) return undefined
    const least = readLow(facts)
    const most = readHigh(facts)
    if (value < least || value > most) return false
    return Number.isNaN(least) || Number.isNaN(most) ? undefined : true
  }
}

/** Compiles IN. In three-valued logic, the result equals that of `operand = item OR operand = item …`. */
function isIn({ operand, items }: NodeOf<'in'>): TruthOf {
  const kind = kindOf(operand)
  if (kind === 'number') {
    const constants = items.map(constantNumber)
    if (!constants.includes(undefined)) return isOneOfNumbers(number(operand), new Set(constants as number[]))
  }
  if (kind === 'string' && items.every((item) => item.kind === 'string')) {
    return isOneOfStrings(string(operand), new Set(items.map((item) => (item as NodeOf<'string'>).value)))
  }
  return any(items.map((item) => equal(operand, item)))
}

function isOneOfNumbers(read: NumberOf, values: ReadonlySet<number>): TruthOf {
  return function isOneOf(facts) {
    const value = read(facts)
    return Number.isNaN(value) ? undefined : values.has(value)
  }
}

function isOneOfStrings(read: StringOf, values: ReadonlySet<string>): TruthOf {
  return function isOneOf(facts) {
    const value = read(facts)
    return value === undefined ? undefined : values.has(value)
  }
}

function predicateCall({ name, args }: NodeOf<'call'>): TruthOf {
  if (name === 'inList') return inList((args[0] as NodeOf<'string'>).value, string(args[1]))
  const holds = STRING_PREDICATES.get(name)!
  const [readText, readPart] = [string(args[0]), string(args[1])]
  return function testString(facts) {
    const text = readText(facts)
    if (text === undefined) return undefined
    const part = readPart(facts)
    return part === undefined ? undefined : holds(text, part)
  }
}

const STRING_PREDICATES: ReadonlyMap<string, (text: string, part: string) => boolean> = new Map([
  ['contains', (text: string, part: string) => text.includes(part)],
  ['startsWith', (text: string, part: string) => text.startsWith(part)],
  ['endsWith', (text: string, part: string) => text.endsWith(part)],
])

/**
 * Compiles a call of `inList`. If the value is missing or the list does not exist, the result is missing. A rule with
 * NOT inList therefore does not match after its list is deleted.
 */
function inList(name: string, read: StringOf): TruthOf {
  return function isInList(facts, lists) {
    const value = read(facts)
    return value === undefined ? undefined : lists.get(name)?.has(value)
  }
}
