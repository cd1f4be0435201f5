import type { ArithmeticOperator, ComparisonOperator, Node, NodeOf } from './ast.ts'
import { childrenOf } from './ast.ts'
import { checkCondition } from './check.ts'
import type { Facts, Lists } from './facts.ts'
import type { Fault } from './faults.ts'
import type { Field } from './field.ts'
import { fieldOf } from './fields.ts'
import { FUNCTIONS } from './functions.ts'
import { parseCondition } from './parse.ts'

/** The value of a condition in three-valued logic: `undefined` means that a missing value decides. */
export type Truth = boolean | undefined

export type TruthOf = (facts: Facts, lists: Lists) => Truth
/** NaN is missing, so arithmetic with a missing value is missing without any further test. */
type NumberOf = (facts: Facts) => number
type StringOf = (facts: Facts) => string | undefined

/** A condition ready for evaluation. */
export interface Condition {
  readonly node: Node
  readonly evaluate: TruthOf
  /** The fields whose absence can make the condition missing: all but those that only IS MISSING reads. */
  readonly needs: readonly Field[]
  /** The names of the lists that it reads. */
  readonly lists: readonly string[]
}

export type Compiled = { readonly ok: true; readonly condition: Condition } | { readonly ok: false; readonly faults: readonly Fault[] }

/** Parses, checks and compiles a condition. */
export function compileCondition(text: string): Compiled {
  const parsed = parseCondition(text)
  if (!parsed.ok) return { ok: false, faults: [parsed.fault] }
  const faults = checkCondition(text, parsed.node)
  if (faults.length > 0) return { ok: false, faults }
  return { ok: true, condition: compile(parsed.node) }
}

/** Compiles a checked tree. */
function compile(node: Node): Condition {
  const needs = new Set<Field>()
  const lists = new Set<string>()
  collect(node, needs, lists)
  return { node, evaluate: truth(node), needs: [...needs], lists: [...lists] }
}

function collect(node: Node, needs: Set<Field>, lists: Set<string>): void {
  if (node.kind === 'missing') return
  if (node.kind === 'field') needs.add(fieldOf(node.name)!)
  if (node.kind === 'call' && node.name === 'inList') lists.add((node.args[0] as NodeOf<'string'>).value)
  for (const child of childrenOf(node)) collect(child, needs, lists)
}

function kindOf(node: Node): 'number' | 'string' | 'boolean' {
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

function truth(node: Node): TruthOf {
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
      throw new Error(`The check lets no ${node.kind} be a condition.`)
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

/** False if any operand is false, otherwise missing if any is missing. */
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

/** True if any operand is true, otherwise missing if any is missing. */
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
    return constant === undefined ? numbersCompare(operator, number(left), number(right)) : numberCompares(operator, number(left), constant)
  }
  return negatedIf(operator === '!=', equal(left, right))
}

/** Returns whether two values of one kind are equal. */
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

/** Compares with a constant, which most conditions do. NaN is neither above nor up to it, and therefore missing. */
function numberCompares(operator: ComparisonOperator, read: NumberOf, constant: number): TruthOf {
  switch (operator) {
    case '>':
      return function above(facts) {
        const value = read(facts)
        return value > constant || (value <= constant ? false : undefined)
      }
    case '>=':
      return function atLeast(facts) {
        const value = read(facts)
        return value >= constant || (value < constant ? false : undefined)
      }
    case '<':
      return function below(facts) {
        const value = read(facts)
        return value < constant || (value >= constant ? false : undefined)
      }
    case '<=':
      return function atMost(facts) {
        const value = read(facts)
        return value <= constant || (value > constant ? false : undefined)
      }
    case '=':
    case '!=':
      return numbersCompare(operator, read, () => constant)
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

/** Three-valued as if written `low <= operand AND operand <= high`. */
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

/** Three-valued as if written `operand = item OR operand = item …`. */
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

/** A list that does not exist is missing, so deleting a list fires no rule, not even one with NOT inList. */
function inList(name: string, read: StringOf): TruthOf {
  return function isInList(facts, lists) {
    const value = read(facts)
    return value === undefined ? undefined : lists.get(name)?.has(value)
  }
}

/** Returns the value of a number literal with or without a sign. */
function constantNumber(node: Node): number | undefined {
  if (node.kind === 'number') return node.value
  if (node.kind !== 'negate') return undefined
  const value = constantNumber(node.operand)
  return value === undefined ? undefined : -value
}

function number(node: Node): NumberOf {
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
      throw new Error(`The check lets no ${node.kind} be a number.`)
  }
}

/** Division by zero and overflow are missing. */
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

function string(node: Node): StringOf {
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
      throw new Error(`The check lets no ${node.kind} be a string.`)
  }
}
