import { type FraudSettingsAnswer, fraudSettingsFlow } from '../../schemas/fraud/settings/flow.ts'
import type { FraudSettingsAction, FraudSettingsCommand } from '../../schemas/fraud/types.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, type ErrorDefinition, errors } from '../kit/errors.ts'
import { fraudErrors } from './errors.ts'
import { ruleJson } from './rules/model.ts'
import type { FraudSettingsInForce } from './settings-in-force.ts'

/** Fields of a command, apart from its action and its author. */
export type CommandInput = Partial<Omit<FraudSettingsCommand, 'action' | 'actor'>>

type Changed = Extract<FraudSettingsAnswer, { readonly revision: number }>
/** The kind of an answer to an accepted change. */
export type Outcome = Changed['outcome']
export type ChangedAs<O extends Outcome> = Extract<Changed, { readonly outcome: O }>

/** One change to the settings. */
export interface SettingsChange<O extends Outcome> {
  /** The setting's key: schemas/fraud/settings/keys.ts */
  readonly key: string
  readonly action: FraudSettingsAction
  /** The input, or a function that reads it. The function is not called if a repeated request gets the first answer. */
  readonly input?: CommandInput | (() => Promise<CommandInput>)
  /** The kind of the answer if the change is accepted. */
  readonly outcome: O
  /**
   * The name and the input of the operation. A second request with the same Idempotency-Key but different values is
   * refused.
   */
  readonly asked: readonly unknown[]
  /** The error if the setting already exists. `missing` is the error if the setting does not exist. */
  readonly exists?: ErrorDefinition
  readonly missing?: ErrorDefinition
  /** Name of the author of the change. Default: the subject of the caller's token. */
  readonly actor?: string
}

/**
 * Sends a settings change to the topology that decides it. Then waits until this process has read the change, but no
 * longer than a second. Throws ApiError if the change is refused.
 */
export type ChangeSettings = <O extends Outcome>(from: CommandRequest, change: SettingsChange<O>) => Promise<ChangedAs<O>>

const NOTHING: Omit<FraudSettingsCommand, 'action' | 'actor'> = {
  rule_id: null,
  rule: null,
  version: null,
  list: null,
  values: null,
  snooze: null,
  hours: null,
  versions: null,
  policy: null,
  force: false,
}

export function settingsCommands(commands: Commands, settings: Pick<FraudSettingsInForce, 'untilSeen'>): ChangeSettings {
  return async function changeSettings<O extends Outcome>(from: CommandRequest, change: SettingsChange<O>): Promise<ChangedAs<O>> {
    const open = await commands.open(from, change.asked)
    const actor = change.actor ?? from.caller!.subject
    const commandOf = (input?: CommandInput) => ({ ...NOTHING, ...input, action: change.action, actor })
    const { input } = change
    const body = typeof input === 'function' ? async () => commandOf(await input()) : commandOf(input)
    const answer = await open.run(fraudSettingsFlow, change.key, body)
    if (answer.outcome !== change.outcome) throw refusalOf(answer, change)
    const changed = answer as ChangedAs<O>
    await settings.untilSeen(changed.revision)
    return changed
  }
}

function refusalOf(answer: FraudSettingsAnswer, { exists, missing, action }: SettingsChange<Outcome>): Error {
  switch (answer.outcome) {
    case 'limit':
      return new ApiError(fraudErrors.settings_limit_reached, { message: answer.limit })
    case 'in_use':
      return new ApiError(fraudErrors.list_in_use, { fields: { rule_ids: answer.rule_ids } })
    case 'rule_not_found':
      return new ApiError(fraudErrors.rule_not_found)
    case 'rule_changed':
      return new ApiError(fraudErrors.version_conflict, { fields: { rule: ruleJson(answer.rule, undefined) } })
    case 'version_not_found':
      return new ApiError(fraudErrors.ruleset_version_not_found)
    case 'no_challenger':
      return new ApiError(fraudErrors.no_challenger)
    case 'no_previous_models':
      return new ApiError(fraudErrors.no_previous_models)
    case 'too_early':
      return new ApiError(fraudErrors.challenger_too_young, { fields: { promotable_at: new Date(answer.from).toISOString() } })
    case 'exists':
      return new ApiError(exists ?? errors.internal_error)
    case 'not_found':
      return new ApiError(missing ?? errors.not_found)
    default:
      return new Error(`unexpected outcome of ${action}: ${answer.outcome}`)
  }
}
