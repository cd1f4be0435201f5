import type { CommandFlow } from '../../commands/topics.ts'
import type { FraudCase, FraudCaseCommand } from '../types.ts'
import { fraudCaseCommands, fraudCases } from './topics.ts'

/** A case as it appears in the answer to a command. */
export type AnsweredCase = Omit<FraudCase, 'history'>

/**
 * The answer to a command about a case.
 * - `done`: the case after the command
 * - `not_found`: the case does not exist, and the command contains nothing from which to create or restore it
 * - `no_transition`: the requested status may not follow the current status of the case, or the command concerns an
 *   archived case whose transaction id now belongs to a newer case
 * - `needs_note`: the command changes a final status but has no note
 * - `other_version`: the case does not have the version that the command names
 */
export type CaseAnswer =
  | { readonly outcome: 'done'; readonly found: AnsweredCase }
  | { readonly outcome: 'not_found' }
  | { readonly outcome: 'no_transition' | 'needs_note' | 'other_version'; readonly found: AnsweredCase }

export const caseFlow: CommandFlow<FraudCaseCommand, FraudCase, CaseAnswer> = {
  name: 'fraud-cases',
  commands: fraudCaseCommands,
  decisions: fraudCases,
}
