import type { Node, NodeOf } from './ast.ts'
import type { Facts, Lists } from './facts.ts'
import { fieldOf } from './fields.ts'
import { formatCondition } from './format.ts'
import { type Truth, type TruthOf, truth } from './truth.ts'
import { constantNumber, kindOf } from './values.ts'

/**
 * Evaluates the conditions of many rules on one transaction. A condition is a chain of parts that are joined by AND.
 * Nearly all parts are bounds on single fields. The bounds of 500 rules take 30 KB of contiguous memory. Closures for
 * the same rules would be spread over a megabyte, which does not stay in the processor's caches between two payments.
 * Any other part is a closure, which all rules with this part share.
 */
export interface RulePlan {
  /** Sets the transaction for all calls of `evaluate` until the next `begin`. */
  begin(facts: Facts, lists: Lists): void
  /** Returns the value of the condition at this position. Throws if a closure throws. */
  evaluate(position: number): Truth
}

/**
 * A part of a condition. The part is false if the number in its column is outside of [low, high], and missing if the
 * number is NaN.
 */
interface Bound {
  readonly column: number
  readonly low: number
  readonly high: number
}

/** The number that represents every text that occurs in no condition of the form `field = 'text'`. */
const OTHER_TEXT = -1

/**
 * Compiles conditions.
 * @param conditions checked conditions
 */
export function planOf(conditions: readonly Node[]): RulePlan {
  const columns = columnsOf()
  const bounds = conditions.map((node) => boundsOf(node, columns))
  const { slots, closures, texts } = columns
  const all = bounds.flat()
  const starts = new Uint32Array(bounds.length + 1)
  for (const [position, own] of bounds.entries()) starts[position + 1] = starts[position] + own.length
  const at = Uint32Array.from(all, ({ column }) => column)
  const lows = Float64Array.from(all, ({ low }) => low)
  const highs = Float64Array.from(all, ({ high }) => high)
  const row = new Float64Array(slots.length)
  /** For each column, whether its number has been computed. A column is computed when a condition first needs it. */
  const known = new Uint8Array(slots.length)
  let [facts, lists]: [Facts, Lists] = [[], new Map()]

  function numberOf(value: Facts[number]): number {
    if (typeof value === 'number') return value
    if (typeof value === 'string') return texts.get(value) ?? OTHER_TEXT
    return value === undefined ? Number.NaN : Number(value)
  }

  function compute(column: number): void {
    const slot = slots[column]
    row[column] = numberOf(slot === undefined ? closures[column]!(facts, lists) : facts[slot])
    known[column] = 1
  }

  return {
    begin(newFacts, newLists) {
      facts = newFacts
      lists = newLists
      known.fill(0)
    },
    evaluate(position) {
      let result: Truth = true
      for (let index = starts[position]; index < starts[position + 1]; index++) {
        const column = at[index]
        if (known[column] === 0) compute(column)
        const value = row[column]
        if (value < lows[index] || value > highs[index]) return false
        if (Number.isNaN(value)) result = undefined
      }
      return result
    },
  }
}

/** The numbers of a transaction that are compared with bounds, one column for each field or closure. */
interface Columns {
  /** The slot of each column's field; undefined for a column with a closure. */
  readonly slots: (number | undefined)[]
  readonly closures: (TruthOf | undefined)[]
  /** The number that represents each text of a condition of the form `field = 'text'`. */
  readonly texts: Map<string, number>
  ofField(field: NodeOf<'field'>): number
  /**
   * Returns the column of a condition of any kind. The number in the column is 1 for true, 0 for false and NaN for a
   * missing result.
   */
  ofCondition(node: Node): number
}

function columnsOf(): Columns {
  const slots: (number | undefined)[] = []
  const closures: (TruthOf | undefined)[] = []
  const byName = new Map<string, number>()

  function column(name: string, slot: number | undefined, closure: () => TruthOf | undefined): number {
    let found = byName.get(name)
    if (found === undefined) {
      found = slots.length
      byName.set(name, found)
      slots.push(slot)
      closures.push(closure())
    }
    return found
  }

  return {
    slots,
    closures,
    texts: new Map(),
    ofField: ({ name }) => column(name, fieldOf(name)!.slot, () => undefined),
    // The parentheses distinguish the text of a condition from the name of a field.
    ofCondition: (node) => column(`(${formatCondition(node)})`, undefined, () => truth(node)),
  }
}

/** Returns the parts of a condition, cheapest first. */
function boundsOf(node: Node, columns: Columns): Bound[] {
  const parts = node.kind === 'and' ? partsOf(node) : [node]
  const bounds = parts.map((part) => fieldBound(part, columns) ?? { column: columns.ofCondition(part), low: 1, high: 1 })
  const isCheap = ({ column }: Bound) => columns.slots[column] !== undefined
  return [...bounds.filter(isCheap), ...bounds.filter((bound) => !isCheap(bound))]
}

function partsOf(node: NodeOf<'and' | 'or'>): Node[] {
  return node.operands.flatMap((operand) => (operand.kind === 'and' ? partsOf(operand) : [operand]))
}

/** Returns a condition as a bound on a field; undefined if it has a different form. */
function fieldBound(node: Node, columns: Columns): Bound | undefined {
  switch (node.kind) {
    case 'field':
      return only(columns.ofField(node), 1)
    case 'not':
      return node.operand.kind === 'field' ? only(columns.ofField(node.operand), 0) : undefined
    case 'comparison':
      return comparisonBound(node, columns)
    case 'between':
      return betweenBound(node, columns)
    default:
      return undefined
  }
}

function comparisonBound({ operator, left, right }: NodeOf<'comparison'>, columns: Columns): Bound | undefined {
  if (left.kind !== 'field') return undefined
  if (right.kind === 'string' && operator === '=') return only(columns.ofField(left), numberOfText(right.value, columns.texts))
  const constant = kindOf(left) === 'number' ? constantNumber(right) : undefined
  if (constant === undefined) return undefined
  const [low, high] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  const column = columns.ofField(left)
  switch (operator) {
    case '=':
      return only(column, constant)
    case '>':
      return { column, low: next(constant, 1), high }
    case '>=':
      return { column, low: constant, high }
    case '<':
      return { column, low, high: next(constant, -1) }
    case '<=':
      return { column, low, high: constant }
    default:
      return undefined
  }
}

function betweenBound({ negated, operand, low, high }: NodeOf<'between'>, columns: Columns): Bound | undefined {
  const [least, most] = [constantNumber(low), constantNumber(high)]
  if (negated || operand.kind !== 'field' || least === undefined || most === undefined) return undefined
  return { column: columns.ofField(operand), low: least, high: most }
}

function only(column: number, value: number): Bound {
  return { column, low: value, high: value }
}

function numberOfText(text: string, texts: Map<string, number>): number {
  const number = texts.get(text) ?? texts.size
  texts.set(text, number)
  return number
}

/** Returns the next greater (1) or smaller (-1) 64-bit floating-point number. */
function next(value: number, direction: 1 | -1): number {
  if (value === 0) return direction * Number.MIN_VALUE
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(value > 0 ? direction : -direction))
  return view.getFloat64(0)
}
