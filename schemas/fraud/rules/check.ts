import type { ComparisonOperator, Node, NodeOf } from './ast.ts'
import { type Fault, type FaultCode, locate, type RawFault } from './faults.ts'
import type { FieldType } from './field.ts'
import { FIELD_NAMES, fieldOf, REFUSED_FIELDS } from './fields.ts'
import { FUNCTIONS, LIST_NAME } from './functions.ts'
import { nearestOf } from './nearest.ts'
import { shown } from './tokens.ts'
import { wrongFormOf } from './value-forms.ts'

/**
 * The type of an expression. `unknown` is the type of a faulty expression, so that one mistake causes only one fault.
 */
type Type = FieldType | 'unknown'

const EQUALITIES: readonly ComparisonOperator[] = ['=', '!=']

const TYPE_WORDS: Readonly<Record<Type, string>> = {
  number: 'a number',
  boolean: 'a condition (true or false)',
  string: 'a string',
  country: 'a country',
  currency: 'a currency',
  ip: 'an IP address',
  tier: 'a risk tier',
  unknown: 'anything',
}

/**
 * Maximum number of reported faults. More faults would not help the author, and the search for similar names takes
 * time.
 */
const MAX_FAULTS = 20

/** Returns faults in the names, types and values of a condition, at most 20, in the order of the text. */
export function checkCondition(text: string, node: Node): Fault[] {
  const checker = new Checker()
  checker.expect(node, 'boolean')
  return checker.faults.map((fault) => locate(text, fault)).sort((one, other) => one.start - other.start)
}

class Checker {
  readonly faults: RawFault[] = []

  /** Checks whether a node has the expected type, and reports a fault if it does not. */
  expect(node: Node, wanted: 'number' | 'boolean' | 'string'): void {
    const found = this.#type(node)
    if (found === 'unknown' || found === wanted) return
    if (wanted === 'string' && isText(found)) return
    this.#report(node, 'wrong_type', `Expected ${TYPE_WORDS[wanted]}, found ${TYPE_WORDS[found]}.`, [TYPE_WORDS[wanted]])
  }

  #type(node: Node): Type {
    switch (node.kind) {
      case 'number':
      case 'string':
      case 'boolean':
        return node.kind
      case 'field':
        return this.#field(node)
      case 'call':
        return this.#call(node)
      case 'negate':
        this.expect(node.operand, 'number')
        return 'number'
      case 'arithmetic':
        this.expect(node.left, 'number')
        this.expect(node.right, 'number')
        return 'number'
      case 'comparison':
        this.#comparison(node)
        return 'boolean'
      case 'in': {
        const type = this.#type(node.operand)
        for (const item of node.items) this.#comparable(node.operand, type, item)
        return 'boolean'
      }
      case 'between':
        this.expect(node.operand, 'number')
        this.expect(node.low, 'number')
        this.expect(node.high, 'number')
        return 'boolean'
      case 'missing':
        this.#type(node.operand)
        return 'boolean'
      case 'not':
        this.expect(node.operand, 'boolean')
        return 'boolean'
      case 'and':
      case 'or':
        for (const operand of node.operands) this.expect(operand, 'boolean')
        return 'boolean'
    }
  }

  #field(node: NodeOf<'field'>): Type {
    const field = fieldOf(node.name)
    if (field !== undefined) return field.type
    const refused = REFUSED_FIELDS.get(node.name)
    if (refused !== undefined) {
      this.#report(node, 'unknown_field', `"${node.name}" is not a field: ${refused}.`, ['a field'])
      return 'unknown'
    }
    const advice = node.name.includes('.') ? '' : ` Strings need quotes: '${shown(node.name)}'.`
    const nearest = this.#nearest(node.name, FIELD_NAMES)
    this.#report(node, 'unknown_field', `There is no field "${shown(node.name)}".${advice}`, ['a field'], nearest)
    return 'unknown'
  }

  #call(node: NodeOf<'call'>): Type {
    const called = FUNCTIONS.get(node.name)
    if (called === undefined) {
      for (const arg of node.args) this.#type(arg)
      const nearest = this.#nearest(node.name, FUNCTIONS.keys())
      this.#report(node, 'unknown_function', `There is no function "${shown(node.name)}".`, [...FUNCTIONS.keys()], nearest)
      return 'unknown'
    }
    const wanted = called.parameters.length
    if (node.args.length !== wanted) {
      const arguments_ = wanted === 1 ? 'one argument' : `${wanted} arguments`
      this.#report(node, 'wrong_arguments', `${node.name} takes ${arguments_}, found ${node.args.length}.`, [arguments_])
    }
    node.args.forEach((arg, index) => {
      const parameter = called.parameters[index]
      if (parameter === undefined) this.#type(arg)
      else if (parameter === 'list') this.#listName(arg)
      else this.expect(arg, parameter)
    })
    return called.result
  }

  #listName(node: Node): void {
    if (node.kind === 'string' && LIST_NAME.test(node.value)) return
    const expected = "the name of a list, such as 'trusted_banks'"
    this.#report(node, 'wrong_arguments', `Expected ${expected}. A name has at most 50 characters: letters, digits, "_", "." and "-".`, [
      expected,
    ])
  }

  #comparison(node: NodeOf<'comparison'>): void {
    if (EQUALITIES.includes(node.operator)) {
      this.#comparable(node.left, this.#type(node.left), node.right)
      return
    }
    this.expect(node.left, 'number')
    this.expect(node.right, 'number')
  }

  /** Checks that two values can be compared for equality. `left` must have been checked already. */
  #comparable(left: Node, leftType: Type, right: Node): void {
    const rightType = this.#type(right)
    if (leftType === 'unknown' || rightType === 'unknown') return
    if (!areComparable(leftType, rightType)) {
      const wanted = TYPE_WORDS[leftType]
      this.#report(right, 'wrong_type', `Expected ${wanted}, found ${TYPE_WORDS[rightType]}.`, [wanted])
      return
    }
    this.#literal(left, rightType)
    this.#literal(right, leftType)
  }

  /**
   * Checks a literal against the type of the value that it is compared with. For instance, `payer.country = 'Germany'`
   * would never match.
   */
  #literal(node: Node, type: FieldType): void {
    if (node.kind !== 'string') return
    const wrong = wrongFormOf(node.value, type)
    if (wrong === undefined) return
    this.#report(node, 'wrong_value', `Expected ${wrong.expected}, found '${shown(node.value)}'.`, [wrong.expected], wrong.nearest)
  }

  #nearest(name: string, candidates: Iterable<string>): string | undefined {
    return this.faults.length < MAX_FAULTS ? nearestOf(name, candidates) : undefined
  }

  #report({ start, end }: Node, code: FaultCode, message: string, expected: readonly string[], nearest?: string): void {
    if (this.faults.length >= MAX_FAULTS) return
    this.faults.push({ code, message, start, end, expected, ...(nearest === undefined ? {} : { nearest }) })
  }
}

function isText(type: Type): boolean {
  return type !== 'number' && type !== 'boolean'
}

/**
 * Returns whether values of two types can be compared for equality. A string of a known form can be compared with a
 * string of the same form and with any plain string.
 */
function areComparable(one: FieldType, other: FieldType): boolean {
  return one === other || (isText(one) && isText(other) && (one === 'string' || other === 'string'))
}
