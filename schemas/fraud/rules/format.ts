import type { Node } from './ast.ts'

/**
 * Levels of precedence, from OR to literals. An operand needs parentheses if its precedence is lower than its position
 * requires.
 */
const OR = 1
const AND = 2
const NOT = 3
const PREDICATE = 4
const SUM = 5
const PRODUCT = 6
const UNARY = 7
const PRIMARY = 8

/** Returns a condition in its canonical form. Parsing the result gives the same tree, apart from the offsets. */
export function formatCondition(node: Node): string {
  switch (node.kind) {
    case 'number':
      return String(node.value)
    case 'string':
      return quoted(node.value)
    case 'boolean':
      return node.value ? 'TRUE' : 'FALSE'
    case 'field':
      return node.name
    case 'call':
      return `${node.name}(${node.args.map(formatCondition).join(', ')})`
    case 'negate':
      return `-${within(node.operand, UNARY)}`
    case 'arithmetic': {
      const level = levelOf(node)
      return `${within(node.left, level)} ${node.operator} ${within(node.right, level + 1)}`
    }
    case 'comparison':
      return `${within(node.left, SUM)} ${node.operator} ${within(node.right, SUM)}`
    case 'in':
      return `${within(node.operand, SUM)}${not(node.negated)} IN (${node.items.map((item) => within(item, SUM)).join(', ')})`
    case 'between':
      return `${within(node.operand, SUM)}${not(node.negated)} BETWEEN ${within(node.low, SUM)} AND ${within(node.high, SUM)}`
    case 'missing':
      return `${within(node.operand, SUM)} IS${not(node.negated)} MISSING`
    case 'not':
      return `NOT ${within(node.operand, NOT)}`
    case 'and':
      return node.operands.map((operand) => within(operand, AND + 1)).join(' AND ')
    case 'or':
      return node.operands.map((operand) => within(operand, OR + 1)).join(' OR ')
  }
}

function within(node: Node, level: number): string {
  const text = formatCondition(node)
  return levelOf(node) < level ? `(${text})` : text
}

function levelOf(node: Node): number {
  switch (node.kind) {
    case 'or':
      return OR
    case 'and':
      return AND
    case 'not':
      return NOT
    case 'comparison':
    case 'in':
    case 'between':
    case 'missing':
      return PREDICATE
    case 'arithmetic':
      return node.operator === '+' || node.operator === '-' ? SUM : PRODUCT
    case 'negate':
      return UNARY
    default:
      return PRIMARY
  }
}

function not(negated: boolean): string {
  return negated ? ' NOT' : ''
}

const NEEDS_ESCAPE = /['\\\p{Cc}]/gu
const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["'", "\\'"],
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])
const HEX = 16
const CODE_UNIT_DIGITS = 4

function quoted(value: string): string {
  const escaped = (character: string) =>
    SHORT_ESCAPES.get(character) ?? `\\u${character.charCodeAt(0).toString(HEX).padStart(CODE_UNIT_DIGITS, '0')}`
  return `'${value.replaceAll(NEEDS_ESCAPE, escaped)}'`
}
