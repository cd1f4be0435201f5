import { type EntityKind, entityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import type { Enrichments } from '../../../schemas/fraud/features/features.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import type { RunOptions } from '../../../state/redis/bounded-scripts.ts'
import {
  ENRICH,
  type EnrichedEntity,
  enrichArguments,
  enrichKeys,
  type HeldBytes,
  type HeldEntity,
  heldBytes,
  heldEntity,
  WITHDRAW,
  withdrawal,
} from '../../../state/views/fraud/enrich.ts'
import { IN_FLIGHT_MS } from '../../../state/views/fraud/in-flight.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { BUSY_MS } from '../busy.ts'
import { HotEntities } from './hot-entities.ts'

/**
 * Time limit of each call to Redis for a transaction. Its calls, one for each partition, run at the same time. While
 * the process is busy, the limit is extended to at most `BUSY_MS`.
 */
export const ENRICHMENT_MS = 15

/** Looks up the profiles of entities, and their transactions in flight: those that the profiles do not include yet. */
export interface EntityProfiles {
  /**
   * Looks up all entities of a transaction at once, and adds the transaction to the transactions in flight of all its
   * entities except the merchant. An entity is `failed` if its partition is not known yet, if its lookup fails or is
   * late, if its profile cannot be decoded, or if the view is still being built. Never throws.
   * @param at epoch ms
   */
  enrich(request: FraudRequest, at: number): Promise<Enrichments>
  /**
   * Removes a transaction from the transactions in flight of its entities, if Redis responds. If an entity had too many
   * transactions in flight to list this one individually, the transaction stays counted. Never throws.
   * @param at the same value as for `enrich`
   */
  withdraw(request: FraudRequest, at: number): Promise<void>
  /**
   * Looks up one entity without adding a transaction in flight.
   * @returns `failed` if the entity's partition is not known yet, if its profile cannot be decoded, or if the view is
   * still being built
   * @throws ApiError `unavailable` if Redis does not respond
   */
  find(kind: EntityKind, id: string): Promise<HeldEntity | 'failed'>
}

export interface EntityProfilesDeps {
  readonly scripts: ViewScripts
  /** Returns the partition of an entity's profile. Throws before the number of partitions is known. */
  partitionOf(entity: string): number
  /** Called with the reason whenever a lookup or a withdrawal fails. */
  onFailure(reason: string): void
  /** How long Redis keeps an entity's transactions in flight after the last one was added. Default IN_FLIGHT_MS. */
  readonly inFlightMs?: number
  /** Epoch ms. */
  now(): number
}

/** An entity of a transaction, with the hash of the transaction's id. */
interface LocatedEntity extends EnrichedEntity {
  readonly kind: EntityKind
  readonly id: number
}

const BEING_BUILT = 'the view is being built'

export function entityProfiles({ scripts, partitionOf, onFailure, inFlightMs = IN_FLIGHT_MS, now }: EntityProfilesDeps): EntityProfiles {
  const limit = { timeoutMs: ENRICHMENT_MS, busyTimeoutMs: BUSY_MS }

  const hot = new HotEntities()

  /**
   * Reads entities of one partition and adds their events, if any, to their transactions in flight, with a single
   * script. Returns undefined if the view is still being built.
   */
  async function ask(
    partition: number,
    entities: readonly EnrichedEntity[],
    at: number,
    options?: RunOptions,
  ): Promise<HeldBytes[] | undefined> {
    const answer = await scripts.run(ENRICH, enrichKeys(partition, entities), enrichArguments(entities, at, inFlightMs), options)
    const held = heldBytes(answer, entities.length)
    if (held === undefined) onFailure(BEING_BUILT)
    return held
  }

  /** Like `ask` with the time limit of transactions, but also returns undefined if the script fails. */
  async function look(partition: number, entities: readonly EnrichedEntity[], at: number): Promise<HeldBytes[] | undefined> {
    try {
      return await ask(partition, entities, at, limit)
    } catch (error) {
      onFailure((error as Error).message)
      return undefined
    }
  }

  /** @param decode returns undefined for a profile of a different version, and throws for a damaged profile */
  function decoded(decode: () => HeldEntity | undefined): HeldEntity | 'failed' {
    try {
      const held = decode()
      if (held !== undefined) return held
      onFailure('a different version of the software wrote a profile')
    } catch (error) {
      onFailure((error as Error).message)
    }
    return 'failed'
  }

  /** Returns the entities of a transaction, grouped by partition, and the kinds of those whose partition is unknown. */
  function located(request: FraudRequest) {
    const unknown: EntityKind[] = []
    const byPartition = new Map<number, LocatedEntity[]>()
    for (const { kind, entityId, event } of eventsOf(request)) {
      const entity = entityKey(kind, entityId)
      const partition = partitionFor(entity)
      if (partition === undefined) {
        unknown.push(kind)
        continue
      }
      // Transactions in flight are not recorded for merchants, because a busy merchant would have too many of them at
      // any time.
      const asked = { kind, entity, id: event.id, event: kind === 'merchant' ? undefined : event }
      const others = byPartition.get(partition)
      if (others === undefined) byPartition.set(partition, [asked])
      else others.push(asked)
    }
    return { unknown, byPartition }
  }

  return {
    async enrich(request, at) {
      const found: Record<EntityKind, HeldEntity | 'failed' | undefined> = { ...NOTHING_FOUND }
      const { unknown, byPartition } = located(request)
      for (const kind of unknown) found[kind] = 'failed'
      const looks = Array.from(byPartition, async ([partition, entities]) => {
        const held = await look(partition, entities, at)
        for (const [index, { kind, entity, id }] of entities.entries())
          found[kind] = held === undefined ? 'failed' : decoded(() => hot.read(kind, entity, held[index], id, at))
      })
      await Promise.all(looks)
      return found
    },
    async withdraw(request, at) {
      const { byPartition } = located(request)
      const withdrawals = Array.from(byPartition, ([partition, entities]) => withdrawal(partition, entities, at))
      await Promise.all(
        withdrawals.map(async ({ keys, rows }) => {
          if (keys.length > 0) await scripts.run(WITHDRAW, keys, rows, limit).catch((error: Error) => onFailure(error.message))
        }),
      )
    },
    async find(kind, id) {
      const entity = entityKey(kind, id)
      const partition = partitionFor(entity)
      if (partition === undefined) return 'failed'
      const at = now()
      // A reader of a profile can wait longer than a payment, so this call has the usual time limit.
      const held = await ask(partition, [{ entity, event: undefined }], at)
      return held === undefined ? 'failed' : decoded(() => heldEntity(held[0], at))
    },
  }

  function partitionFor(entity: string): number | undefined {
    try {
      return partitionOf(entity)
    } catch (error) {
      onFailure((error as Error).message)
      return undefined
    }
  }
}

const NOTHING_FOUND = { user: undefined, device: undefined, ip: undefined, card: undefined, merchant: undefined }
