import { ENTITY_KINDS, type EntityKind, entityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import type { Enrichments } from '../../../schemas/fraud/features/features.ts'
import type { FraudEvent, FraudRequest } from '../../../schemas/fraud/types.ts'
import { ENRICH, enrichArguments, enrichKeys, type HeldEntity, heldEntity } from '../../../state/views/fraud/enrich.ts'
import { IN_FLIGHT_MS } from '../../../state/views/fraud/in-flight.ts'
import { profileKeys } from '../../../state/views/fraud/profiles.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { BUSY_MS } from '../busy.ts'

/** The time that the look-ups of a transaction may take. All run at once. */
export const ENRICHMENT_MS = 15

/** Looks up profiles and the transactions in flight. */
export interface EntityProfiles {
  /**
   * Looks up all entities of a transaction at once, and adds the transaction to those in flight. An entity whose answer
   * is late, fails or means nothing, because its view is being built, is `failed`. Never throws.
   */
  enrich(request: FraudRequest): Promise<Enrichments>
  /** Looks up one entity and adds nothing. Never throws. */
  find(kind: EntityKind, id: string): Promise<HeldEntity | 'failed'>
}

export interface EntityProfilesDeps {
  readonly scripts: ViewScripts
  /** Returns the partition of a profile's key. Throws before the number of partitions is known. */
  partitionOf(entity: string): number
  /** Called with the reason whenever a look-up fails. */
  onFailure(reason: string): void
  /** How long a transaction stays in flight if no profile includes it, ms. Default IN_FLIGHT_MS. */
  readonly inFlightMs?: number
  /** Epoch ms. */
  now(): number
}

export function entityProfiles({ scripts, partitionOf, onFailure, inFlightMs = IN_FLIGHT_MS, now }: EntityProfilesDeps): EntityProfiles {
  async function look(kind: EntityKind, id: string, event: FraudEvent | undefined): Promise<HeldEntity | 'failed'> {
    try {
      const entity = entityKey(kind, id)
      const at = now()
      const keys = enrichKeys(profileKeys(partitionOf(entity), entity))
      const args = event === undefined ? [] : enrichArguments(event, at, inFlightMs)
      const answer = await scripts.run(ENRICH, keys, args, { timeoutMs: ENRICHMENT_MS, busyTimeoutMs: BUSY_MS })
      const held = heldEntity(answer, at)
      if (held === undefined) onFailure('the view is being built')
      return held ?? 'failed'
    } catch (error) {
      onFailure((error as Error).message)
      return 'failed'
    }
  }

  return {
    async enrich(request) {
      const found: Partial<Record<EntityKind, HeldEntity | 'failed'>> = {}
      // Nothing about merchants is in flight, because most of their transactions would be.
      const looks = eventsOf(request).map(async ({ kind, entityId, event }) => {
        found[kind] = await look(kind, entityId, kind === 'merchant' ? undefined : event)
      })
      await Promise.all(looks)
      return Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, found[kind]])) as Enrichments
    },
    find: (kind, id) => look(kind, id, undefined),
  }
}
