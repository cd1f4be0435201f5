import type { FraudSettingsAnswer } from '../../../schemas/fraud/settings/flow.ts'
import { initialModels } from '../../../schemas/fraud/settings/initial.ts'
import { KEPT_CHAMPIONS, TRIAL_MS } from '../../../schemas/fraud/settings/limits.ts'
import type { FraudModels, FraudPolicy, FraudSettingsCommand } from '../../../schemas/fraud/types.ts'

/** The models after a command, or the reason for refusing the command. */
export type ModelsDecision = { readonly next: FraudModels } | { readonly refused: FraudSettingsAnswer }

/**
 * Decides a command about the models. Models and their policy change together.
 * @param stored undefined until the first change; until then the built-in models apply
 */
export function decideModels(stored: FraudModels | undefined, command: FraudSettingsCommand, now: number): ModelsDecision {
  const current = stored ?? initialModels()
  const { champion, challenger } = current
  const { actor: set_by } = command

  /** Makes the given models the champion, together with the policy, which gets a new version number. */
  function champions(
    versions: FraudModels['champion']['versions'],
    policy: FraudPolicy,
    previous: FraudModels['previous'],
  ): ModelsDecision {
    const policies = current.policies + 1
    const next = { versions, policy: { ...policy, version: policies }, since: now, set_by }
    return { next: { ...current, champion: next, previous, policies } }
  }

  function succeeded(decision: ModelsDecision): ModelsDecision {
    return 'next' in decision ? { next: { ...decision.next, challenger: null } } : decision
  }

  const kept = [champion, ...current.previous].slice(0, KEPT_CHAMPIONS)
  switch (command.action) {
    case 'assign_models':
      return champions(command.versions!, command.policy ?? champion.policy, kept)
    case 'set_challenger':
      return { next: { ...current, challenger: { versions: command.versions!, policy: command.policy, since: now, set_by } } }
    case 'end_challenger':
      if (challenger === null) return { refused: { outcome: 'no_challenger' } }
      return { next: { ...current, challenger: null } }
    case 'promote_challenger': {
      if (challenger === null) return { refused: { outcome: 'no_challenger' } }
      const from = challenger.since + TRIAL_MS
      if (now < from && !command.force) return { refused: { outcome: 'too_early', from } }
      return succeeded(champions(challenger.versions, challenger.policy ?? champion.policy, kept))
    }
    case 'roll_back_models': {
      const [last, ...older] = current.previous
      if (last === undefined) return { refused: { outcome: 'no_previous_models' } }
      return champions(last.versions, last.policy, older)
    }
    default:
      throw new Error(`${command.action} is not a command about models`)
  }
}
