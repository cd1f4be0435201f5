export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'
export type FunctionName = 'abs' | 'lower' | 'contains' | 'startsWith' | 'endsWith' | 'inList'

/** UTF-16 offsets of a node's text in the condition. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The syntax tree of a condition. A chain of ANDs or of ORs is one node; arithmetic operators are left-associative. */
export type Node = Span &
  (
    | { readonly kind: 'number'; readonly value: number }
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'boolean'; readonly value: boolean }
    | { readonly kind: 'field'; readonly name: string }
    | { readonly kind: 'call'; readonly name: string; readonly args: readonly Node[] }
    | { readonly kind: 'negate'; readonly operand: Node }
    | { readonly kind: 'arithmetic'; readonly operator: ArithmeticOperator; readonly left: Node; readonly right: Node }
    | { readonly kind: 'comparison'; readonly operator: ComparisonOperator; readonly left: Node; readonly right: Node }
    | { readonly kind: 'in'; readonly negated: boolean; readonly operand: Node; readonly items: readonly Node[] }
    | { readonly kind: 'between'; readonly negated: boolean; readonly operand: Node; readonly low: Node; readonly high: Node }
    | { readonly kind: 'missing'; readonly negated: boolean; readonly operand: Node }
    | { readonly kind: 'not'; readonly operand: Node }
    | { readonly kind: 'and' | 'or'; readonly operands: readonly Node[] }
  )

export type NodeOf<Kind extends Node['kind']> = Extract<Node, { readonly kind: Kind }>

/** Returns the nodes directly below a node, from left to right. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'number':
    case 'string':
    case 'boolean':
    case 'field':
      return []
    case 'call':
      return node.args
    case 'negate':
    case 'not':
    case 'missing':
      return [node.operand]
    case 'arithmetic':
    case 'comparison':
      return [node.left, node.right]
    case 'in':
      return [node.operand, ...node.items]
    case 'between':
      return [node.operand, node.low, node.high]
    case 'and':
    case 'or':
      return node.operands
  }
}
