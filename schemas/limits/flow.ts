import type { CommandFlow } from '../commands/topics.ts'
import { limitCommands, limitDecisions } from './topics.ts'
import type { LimitClient, LimitCommand, LimitRule, LimitSetting } from './types.ts'

/** The answer to a command about a rule or an API key. */
export type LimitAnswer =
  | { readonly outcome: 'done'; readonly rule: LimitRule | null; readonly client: LimitClient | null }
  | { readonly outcome: 'exists' | 'not_found' }

export const limitFlow: CommandFlow<LimitCommand, LimitSetting, LimitAnswer> = {
  name: 'limits',
  commands: limitCommands,
  decisions: limitDecisions,
}

export function ruleSubject(ruleId: string): string {
  return `rule:${ruleId}`
}

export function keySubject(keyId: string): string {
  return `key:${keyId}`
}
