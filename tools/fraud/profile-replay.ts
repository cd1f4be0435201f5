import { ENTITY_KINDS, type EntityKind, entityKey } from '../../schemas/fraud/entity.ts'
import { entitiesOf, eventsOf } from '../../schemas/fraud/events.ts'
import { type Enrichments, featuresOf } from '../../schemas/fraud/features/features.ts'
import type { ModelInput } from '../../schemas/fraud/models/inputs.ts'
import { foldEvents, NEW_PROFILE } from '../../schemas/fraud/profile/fold.ts'
import { PROFILE_SHAPES } from '../../schemas/fraud/profile/shape.ts'
import { foldVerdict } from '../../schemas/fraud/profile/verdicts.ts'
import type { FraudIpFacts, FraudProfile, FraudRequest } from '../../schemas/fraud/types.ts'

/** Profiles in memory. The functions of the pipeline and of the API fold and read them. */
export interface ProfileReplay {
  /**
   * Computes the inputs of models and rules for a transaction, then adds the transaction to the profiles, and returns
   * the inputs. Transactions must be passed in chronological order.
   */
  next(request: FraudRequest, ip: FraudIpFacts): ModelInput
  /**
   * Applies an analyst's verdict that a transaction is a fraud.
   * @param at epoch ms
   */
  confirmFraud(request: FraudRequest, at: number): void
}

export function profileReplay(): ProfileReplay {
  const profiles = new Map<string, FraudProfile>()

  function enrich(request: FraudRequest): Enrichments {
    const ids = entitiesOf(request)
    const found = {} as Record<EntityKind, Enrichments[EntityKind]>
    for (const kind of ENTITY_KINDS) {
      const id = ids[kind]
      found[kind] = id === null ? undefined : { profile: profiles.get(entityKey(kind, id)), inFlight: [], inFlightSeconds: [] }
    }
    return found
  }

  return {
    next(request, ip) {
      const { features } = featuresOf(request, ip, enrich(request))
      for (const { kind, entityId, event } of eventsOf(request)) {
        const key = entityKey(kind, entityId)
        profiles.set(key, foldEvents(profiles.get(key) ?? NEW_PROFILE, PROFILE_SHAPES[kind], [event]))
      }
      return { request, ip, features }
    },
    confirmFraud(request, at) {
      const ids = entitiesOf(request)
      for (const kind of ENTITY_KINDS) {
        const id = ids[kind]
        if (id === null) continue
        const key = entityKey(kind, id)
        const verdict = { verdict: 'CONFIRMED_FRAUD', previous: null, at, previous_at: null } as const
        profiles.set(key, foldVerdict(profiles.get(key) ?? NEW_PROFILE, kind, verdict))
      }
    },
  }
}
