import { type ArithmeticOperator, type ComparisonOperator, childrenOf, type Node } from './ast.ts'
import { codePoints, type Fault, locate } from './faults.ts'
import { FUNCTIONS } from './functions.ts'
import { nearestOf } from './nearest.ts'
import { syntaxFault, thrownFault } from './syntax-fault.ts'
import { KEYWORDS, type Keyword, type Token, tokenName, tokensOf } from './tokens.ts'

/** Maximum length of a condition in code points. It bounds the memory and the evaluation time of 500 rules. */
export const MAX_CONDITION_CHARACTERS = 4_000
/**
 * Maximum depth of the syntax tree, and of parentheses. With this limit, recursive functions cannot overflow the stack.
 */
export const MAX_CONDITION_DEPTH = 32

export type Parsed = { readonly ok: true; readonly node: Node } | { readonly ok: false; readonly fault: Fault }

const COMPARISONS: ReadonlyMap<string, ComparisonOperator> = new Map([
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['<>', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
])
const SUM_OPERATORS = ['+', '-'] as const
const PRODUCT_OPERATORS = ['*', '/', '%'] as const
const VALUE = ['a field', 'a number', 'a string', 'a function', 'TRUE', 'FALSE', '"-"', '"("']
const AFTER_CONDITION = ['AND', 'OR', 'the end of the condition']

/**
 * Parses a condition (see docs/services/fraud.md#rule-language). Types and names are not checked. Pass a greater
 * `maxCharacters` only for canonical text, which may be longer than the text that its author wrote.
 */
export function parseCondition(text: string, maxCharacters = MAX_CONDITION_CHARACTERS): Parsed {
  try {
    checkLength(text, maxCharacters)
    return { ok: true, node: new Parser(tokensOf(text)).condition() }
  } catch (error) {
    const fault = thrownFault(error)
    if (fault === undefined) throw error
    return { ok: false, fault: locate(text, fault) }
  }
}

/**
 * Maximum number of UTF-16 units per code point. A text with more units than `maxCharacters` times this number is too
 * long, so its code points need not be counted.
 */
const MAX_UNITS_PER_CHARACTER = 2

function checkLength(text: string, maxCharacters: number): void {
  if (text.length <= maxCharacters) return
  if (text.length <= maxCharacters * MAX_UNITS_PER_CHARACTER && codePoints(text) <= maxCharacters) return
  throw syntaxFault({
    code: 'too_long',
    message: `The condition has more than ${maxCharacters} characters.`,
    start: 0,
    end: 0,
    expected: [`at most ${maxCharacters} characters`],
  })
}

/** A recursive-descent parser with one method per rule of the grammar. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  /** Number of open parentheses, NOTs, minus signs and calls. */
  #open = 0
  /** Position at which the parser last allowed a NOT. */
  #mayBeNotAt = 0
  readonly #depths = new Map<Node, number>()

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  condition(): Node {
    const node = this.#or()
    if (this.#token.kind !== 'end') throw this.#unexpected(AFTER_CONDITION)
    return node
  }

  get #token(): Token {
    return this.#tokens[this.#at]
  }

  #or(): Node {
    return this.#chain('or', 'OR', () => this.#and())
  }

  #and(): Node {
    return this.#chain('and', 'AND', () => this.#not())
  }

  #chain(kind: 'and' | 'or', keyword: Keyword, operand: () => Node): Node {
    const operands = [operand()]
    while (this.#takeKeyword(keyword)) operands.push(operand())
    return operands.length === 1 ? operands[0] : this.#node({ kind, operands, start: operands[0].start, end: operands.at(-1)!.end })
  }

  #not(): Node {
    const { start } = this.#token
    this.#mayBeNotAt = this.#at
    if (!this.#takeKeyword('NOT')) return this.#predicate()
    const operand = this.#nested(() => this.#not())
    return this.#node({ kind: 'not', operand, start, end: operand.end })
  }

  #predicate(): Node {
    const operand = this.#sum()
    const { start } = operand
    const token = this.#token
    const operator = token.kind === 'symbol' ? COMPARISONS.get(token.text) : undefined
    if (operator !== undefined) {
      this.#at++
      const right = this.#sum()
      return this.#unchained(this.#node({ kind: 'comparison', operator, left: operand, right, start, end: right.end }))
    }
    if (this.#takeKeyword('IS')) {
      const negated = this.#takeKeyword('NOT')
      const { end } = this.#token
      if (!this.#takeKeyword('MISSING')) throw this.#unexpected(negated ? ['MISSING'] : ['MISSING', 'NOT MISSING'])
      return this.#unchained(this.#node({ kind: 'missing', negated, operand, start, end }))
    }
    const negated = this.#takeKeyword('NOT')
    if (this.#takeKeyword('IN')) return this.#unchained(this.#in(operand, negated))
    if (this.#takeKeyword('BETWEEN')) return this.#unchained(this.#between(operand, negated))
    if (negated) throw this.#unexpected(['IN', 'BETWEEN'])
    return operand
  }

  #in(operand: Node, negated: boolean): Node {
    this.#expectSymbol('(')
    const items = [this.#sum()]
    while (this.#takeSymbol(',')) items.push(this.#sum())
    const { end } = this.#token
    this.#expectSymbol(')', ['","', '")"'])
    return this.#node({ kind: 'in', negated, operand, items, start: operand.start, end })
  }

  #between(operand: Node, negated: boolean): Node {
    const low = this.#sum()
    if (!this.#takeKeyword('AND')) throw this.#unexpected(['AND'])
    const high = this.#sum()
    return this.#node({ kind: 'between', negated, operand, low, high, start: operand.start, end: high.end })
  }

  /**
   * Returns the node of a predicate. Throws if a comparison operator follows, as in `a < b < c`, which looks valid but
   * has no meaning.
   */
  #unchained(node: Node): Node {
    const token = this.#token
    if (token.kind === 'symbol' && COMPARISONS.has(token.text)) {
      throw this.#unexpected(['AND', 'OR', 'the end of the condition'], ' Comparisons cannot be chained: use BETWEEN, or AND.')
    }
    return node
  }

  #sum(): Node {
    return this.#arithmetic(SUM_OPERATORS, () => this.#product())
  }

  #product(): Node {
    return this.#arithmetic(PRODUCT_OPERATORS, () => this.#unary())
  }

  #arithmetic(operators: readonly ArithmeticOperator[], operand: () => Node): Node {
    let left = operand()
    for (let operator = this.#takeOneOf(operators); operator !== undefined; operator = this.#takeOneOf(operators)) {
      const right = operand()
      left = this.#node({ kind: 'arithmetic', operator, left, right, start: left.start, end: right.end })
    }
    return left
  }

  #unary(): Node {
    const { start } = this.#token
    if (!this.#takeSymbol('-')) return this.#primary()
    const operand = this.#nested(() => this.#unary())
    return this.#node({ kind: 'negate', operand, start, end: operand.end })
  }

  #primary(): Node {
    const token = this.#token
    const { start, end } = token
    if (this.#takeSymbol('(')) {
      const node = this.#nested(() => this.#or())
      this.#expectSymbol(')')
      return node
    }
    switch (token.kind) {
      case 'number':
      case 'string':
        this.#at++
        return this.#node(
          token.kind === 'number' ? { kind: 'number', value: token.value, start, end } : { kind: 'string', value: token.value, start, end },
        )
      case 'name':
        this.#at++
        return this.#takeSymbol('(') ? this.#call(token.text, start) : this.#node({ kind: 'field', name: token.text, start, end })
      case 'keyword':
        if (token.text !== 'TRUE' && token.text !== 'FALSE') throw this.#noValue()
        this.#at++
        return this.#node({ kind: 'boolean', value: token.text === 'TRUE', start, end })
      default:
        throw this.#noValue()
    }
  }

  #call(name: string, start: number): Node {
    const args: Node[] = []
    let { end } = this.#token
    if (!this.#takeSymbol(')')) {
      do args.push(this.#nested(() => this.#or()))
      while (this.#takeSymbol(','))
      end = this.#token.end
      this.#expectSymbol(')', ['","', '")"'])
    }
    return this.#node({ kind: 'call', name, args, start, end })
  }

  #nested(parse: () => Node): Node {
    if (++this.#open > MAX_CONDITION_DEPTH) throw tooDeep(this.#token)
    const node = parse()
    this.#open--
    return node
  }

  #node(node: Node): Node {
    const depth = 1 + Math.max(0, ...childrenOf(node).map((child) => this.#depths.get(child)!))
    if (depth > MAX_CONDITION_DEPTH) throw tooDeep(node)
    this.#depths.set(node, depth)
    return node
  }

  #takeKeyword(keyword: Keyword): boolean {
    const token = this.#token
    const isTaken = token.kind === 'keyword' && token.text === keyword
    if (isTaken) this.#at++
    return isTaken
  }

  #takeSymbol(symbol: string): boolean {
    const token = this.#token
    const isTaken = token.kind === 'symbol' && token.text === symbol
    if (isTaken) this.#at++
    return isTaken
  }

  #takeOneOf<Symbols extends string>(symbols: readonly Symbols[]): Symbols | undefined {
    return symbols.find((symbol) => this.#takeSymbol(symbol))
  }

  #expectSymbol(symbol: string, expected: readonly string[] = [`"${symbol}"`]): void {
    if (!this.#takeSymbol(symbol)) throw this.#unexpected(expected)
  }

  #noValue(): Error {
    return this.#unexpected(this.#mayBeNotAt === this.#at ? ['NOT', ...VALUE] : VALUE)
  }

  #unexpected(expected: readonly string[], advice = ''): Error {
    const token = this.#token
    const nearest = token.kind === 'name' ? nearestOf(token.text, [...KEYWORDS, ...FUNCTIONS.keys()]) : undefined
    return syntaxFault({
      code: 'syntax',
      message: `Expected ${listed(expected)}, found ${tokenName(token)}.${advice}`,
      start: token.start,
      end: token.end,
      expected,
      ...(nearest === undefined ? {} : { nearest }),
    })
  }
}

function tooDeep({ start, end }: { start: number; end: number }): Error {
  return syntaxFault({
    code: 'too_deep',
    message: `The condition is nested more than ${MAX_CONDITION_DEPTH} levels deep.`,
    start,
    end,
    expected: [`at most ${MAX_CONDITION_DEPTH} levels`],
  })
}

function listed(words: readonly string[]): string {
  return words.length === 1 ? words[0] : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
