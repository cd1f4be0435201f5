import { type Policy, policyFaults } from '../../../schemas/fraud/decision/policy.ts'
import { MODELS_KEY } from '../../../schemas/fraud/settings/keys.ts'
import { policyRecord } from '../../../schemas/fraud/settings/policy.ts'
import type { FraudModels } from '../../../schemas/fraud/types.ts'
import type { CommandRequest } from '../../kit/commands/commands.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import type { ModelVersions } from '../in-force.ts'
import type { ChangeSettings } from '../settings-commands.ts'

/**
 * Models, with the policy that was calibrated for them. The version in the policy is ignored. If the policy is
 * undefined, the policy in force is used.
 */
export interface ModelsWithPolicy {
  readonly versions: ModelVersions
  readonly policy: Policy | undefined
}

/**
 * Changes which models score. Every function waits until this process has read the change, but no longer than a
 * second, and returns the new assignment. It throws ApiError if the change is refused. The models are loaded later.
 */
export interface ModelAssignments {
  /** Makes the given models the champion, together with their policy. The challenger does not change. */
  assign(from: CommandRequest, models: ModelsWithPolicy): Promise<FraudModels>
  /**
   * Makes the given models the challenger, in place of the current challenger.
   * @param read returns the models. Its errors are passed on. It is not called if a repeated request gets the first
   * answer, because the models may be gone by then.
   * @param asked the versions that the request names. If an Idempotency-Key is used again, only these versions must be
   * the same. The other versions and the policy depend on the champion, which may have changed since the first request.
   */
  setChallenger(from: CommandRequest, read: () => Promise<ModelsWithPolicy>, asked: ModelVersions): Promise<FraudModels>
  /** Ends the trial of the challenger. Throws `no_challenger`. */
  endChallenger(from: CommandRequest): Promise<FraudModels>
  /**
   * Makes the challenger the champion. Throws `no_challenger`, `challenger_too_young` in the first 7 days without
   * `force`, and `forbidden` if a caller without the scope `admin` uses `force`.
   * @param options.check throws an error if the challenger must not be promoted. It is not called with `force`, or if a
   * repeated request gets the first answer.
   */
  promote(from: CommandRequest, options: { readonly force: boolean; check(): void }): Promise<FraudModels>
  /** Restores the previous champion and its policy. Throws `no_previous_models`. */
  rollBack(from: CommandRequest): Promise<FraudModels>
}

export function modelAssignments(changeSettings: ChangeSettings): ModelAssignments {
  const about = { key: MODELS_KEY, outcome: 'models' } as const

  return {
    async assign(from, given) {
      const change = { ...about, action: 'assign_models', input: inputOf(given), asked: ['assignFraudModels', given] } as const
      return (await changeSettings(from, change)).models
    },
    async setChallenger(from, read, asked) {
      const input = async () => inputOf(await read())
      const change = { ...about, action: 'set_challenger', input, asked: ['setFraudChallenger', asked] } as const
      return (await changeSettings(from, change)).models
    },
    async endChallenger(from) {
      return (await changeSettings(from, { ...about, action: 'end_challenger', asked: ['endFraudChallenger'] })).models
    },
    async promote(from, { force, check }) {
      if (force && from.caller?.scopes.has('admin') !== true) {
        throw new ApiError(errors.forbidden, {
          message: 'Only administrators may force the promotion of a challenger.',
        })
      }
      const input = async () => {
        if (!force) check()
        return { force }
      }
      const change = { ...about, action: 'promote_challenger', input, asked: ['promoteFraudChallenger', force] } as const
      return (await changeSettings(from, change)).models
    },
    async rollBack(from) {
      return (await changeSettings(from, { ...about, action: 'roll_back_models', asked: ['rollBackFraudModels'] })).models
    },
  }
}

function inputOf({ versions, policy }: ModelsWithPolicy) {
  const faults = policy === undefined ? [] : policyFaults(policy)
  if (faults.length > 0) throw new Error(`the policy cannot be used: ${faults.join(' ')}`)
  return { versions: versions as Record<string, string>, policy: policy === undefined ? null : policyRecord(policy) }
}
