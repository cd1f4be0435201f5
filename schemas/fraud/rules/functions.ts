import type { FunctionName } from './ast.ts'

/** The type of a parameter. `list` is a literal with the name of a list. */
type Parameter = 'number' | 'string' | 'list'

export interface RuleFunction {
  readonly parameters: readonly Parameter[]
  readonly result: 'number' | 'string' | 'boolean'
}

const STRINGS = { parameters: ['string', 'string'], result: 'boolean' } as const

/** The functions of the rule language, with case-sensitive names. */
export const FUNCTIONS: ReadonlyMap<string, RuleFunction> = new Map<FunctionName, RuleFunction>([
  ['abs', { parameters: ['number'], result: 'number' }],
  ['lower', { parameters: ['string'], result: 'string' }],
  ['contains', STRINGS],
  ['startsWith', STRINGS],
  ['endsWith', STRINGS],
  ['inList', { parameters: ['list', 'string'], result: 'boolean' }],
])

/** The pattern that names of lists must match. */
export const LIST_NAME = /^[A-Za-z0-9_.-]{1,50}$/
