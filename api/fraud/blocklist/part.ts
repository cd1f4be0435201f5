import { setTimeout as delay } from 'node:timers/promises'
import { entryIdOf, isEntryId } from '../../../schemas/fraud/blocklist/entity.ts'
import { type BlocklistAnswer, blocklistFlow } from '../../../schemas/fraud/blocklist/flow.ts'
import { fraudBlocklistDecisions } from '../../../schemas/fraud/blocklist/topics.ts'
import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { FraudBlocklistCommand, FraudBlocklistEntry } from '../../../schemas/fraud/types.ts'
import { FRAUD_BLOCKLIST_VIEW, readBlocklist, readBlocklistEntry } from '../../../state/views/fraud/blocklist.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import type { CommandRequest, OpenCommand } from '../../kit/commands/commands.ts'
import { ApiError, type ErrorDetail, errors } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { check } from '../../kit/input.ts'
import { caughtUp, viewProbe } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import { type CheckedEntry, checkedEntry } from './checked-entry.ts'
import type { OpenBlocklist } from './in-force.ts'
import { entryJson, type NewEntry, NewEntryBody } from './model.ts'
import { blockAllRoute, blockRoute, changeEntryRoute, listBlocklistRoute, readEntryRoute, unblockRoute } from './routes.ts'

export interface BlocklistDeps extends Pick<ServiceKit, 'views' | 'commands' | 'now' | 'monotonic'> {
  readonly facts: Facts
  readonly blocklist: OpenBlocklist
  readonly hashes: PersonalHashes
}

/**
 * Maximum time to wait until this instance has read a change into memory. Normally, an instance reads a change a few
 * milliseconds after the commit.
 */
const READABLE_WITHIN_MS = 1_000
const LOOK_EVERY_MS = 5

/** Creates the routes that analysts use to change and read the blocklist. */
export function blocklistPart({ blocklist, hashes, views, facts, commands, now, monotonic }: BlocklistDeps): FraudPart {
  async function block(open: OpenCommand, { entity, attributes }: CheckedEntry, actor: string, step?: string): Promise<Blocked> {
    const { reason, ttl_hours, blocked_by = actor } = attributes
    const command: FraudBlocklistCommand = { action: 'block', actor, request: { ...entity, reason, blocked_by, ttl_hours } }
    return (await open.run(blocklistFlow, entryIdOf(entity), command, step)) as Blocked
  }

  /**
   * Waits until the blocklist in this instance's memory reflects the changes, so that a payment that the caller scores
   * next is judged by the new blocklist. Gives up after READABLE_WITHIN_MS.
   * @param isBlocked true if the changes block the entities, false if they unblock them
   */
  async function untilSeen(changed: readonly FraudBlocklistEntry[], isBlocked: boolean): Promise<void> {
    const until = monotonic() + READABLE_WITHIN_MS
    while (!changed.every((entry) => isSeen(entry, isBlocked)) && monotonic() < until) await delay(LOOK_EVERY_MS)
  }

  function isSeen(entry: FraudBlocklistEntry, isBlocked: boolean): boolean {
    try {
      return blocklist.has(entry) === isBlocked
    } catch {
      // This instance cannot read the list at the moment. The change is already committed, so the request must not
      // fail.
      return false
    }
  }

  async function blockAll(from: CommandRequest, items: readonly unknown[]) {
    const checked = items.map((item, index) => checkItem(item, `body.entries[${index}]`, hashes))
    // Redis keeps a hash of the checked entries. Keyed hashes have already replaced the e-mail addresses in these
    // entries, so the hash in Redis does not reveal an address.
    const open = await commands.open(from, ['blockEntities', checked])
    const actor = from.caller!.subject
    const results = await Promise.all(
      checked.map(async (entry, index) => (isWrong(entry) ? entry : await block(open, entry, actor, `entry-${index}`))),
    )
    await untilSeen(
      results.flatMap((result) => (isWrong(result) ? [] : [result.entry])),
      true,
    )
    return results.map((result) =>
      isWrong(result)
        ? { status: 'invalid', entry_id: null, details: result }
        : { status: result.outcome, entry_id: result.entry.entry_id },
    )
  }

  return {
    // The view is optional for readiness, because scoring reads the blocklist in memory. Only the routes that list,
    // read and change entries need the view.
    probes: [{ ...viewProbe(views, facts, FRAUD_BLOCKLIST_VIEW, fraudBlocklistDecisions), optional: true }],
    routes: [
      bind(blockRoute, async (input) => {
        const checked = assertValid(input.body, hashes)
        const open = await commands.open(input, ['blockEntity', checked])
        const { outcome, entry } = await block(open, checked, input.caller!.subject)
        if (outcome === 'conflict') throw new ApiError(fraudErrors.blocklist_entry_exists, { fields: { entry_id: entry.entry_id } })
        await untilSeen([entry], true)
        return jsonAnswer(outcome === 'created' ? 201 : 200, entryJson(entry), PRIVATE)
      }),
      bind(listBlocklistRoute, async ({ query: { entity_type: type, after, limit } }) => {
        const { entries, next } = caughtUp(await readBlocklist(views, facts.partitionsOf(fraudBlocklistDecisions), { type, after, limit }))
        return jsonAnswer(200, { entries: entries.filter(isActive).map(entryJson), next: next ?? null }, PRIVATE)
      }),
      bind(readEntryRoute, async ({ params: { entry_id } }) => {
        return jsonAnswer(200, entryJson(await activeEntry(entry_id)), PRIVATE)
      }),
      bind(changeEntryRoute, async (input) => {
        const { entry_id } = input.params
        const { reason, ttl_hours, blocked_by = input.caller!.subject } = input.body
        if (!isEntryId(entry_id)) throw new ApiError(fraudErrors.blocklist_entry_not_found)
        const open = await commands.open(input, ['changeBlocklistEntry', entry_id, input.body])
        const answer = await open.run(blocklistFlow, entry_id, async (): Promise<FraudBlocklistCommand> => {
          const { entity_type, entity_value, masked_value } = await activeEntry(entry_id)
          const request = { entity_type, entity_value, masked_value, reason, blocked_by, ttl_hours }
          return { action: 'change', actor: input.caller!.subject, request }
        })
        if (answer.outcome === 'not_found') throw new ApiError(fraudErrors.blocklist_entry_not_found)
        return jsonAnswer(200, entryJson(answer.entry), PRIVATE)
      }),
      bind(unblockRoute, async (input) => {
        const { entry_id } = input.params
        if (!isEntryId(entry_id)) throw new ApiError(fraudErrors.blocklist_entry_not_found)
        const open = await commands.open(input, ['unblockEntity', entry_id])
        const command: FraudBlocklistCommand = { action: 'unblock', actor: input.caller!.subject, request: null }
        const answer = await open.run(blocklistFlow, entry_id, command)
        if (answer.outcome === 'not_found') throw new ApiError(fraudErrors.blocklist_entry_not_found)
        await untilSeen([answer.entry], false)
        return noContent()
      }),
      bind(blockAllRoute, async (input) => jsonAnswer(200, { results: await blockAll(input, input.body.entries) }, PRIVATE)),
    ],
  }

  /** @throws ApiError `blocklist_entry_not_found`, `not_ready` */
  async function activeEntry(entryId: string): Promise<FraudBlocklistEntry> {
    const partition = isEntryId(entryId) ? facts.partitionOf(fraudBlocklistDecisions, entryId) : undefined
    const entry = partition === undefined ? undefined : caughtUp(await readBlocklistEntry(views, partition, entryId))
    if (entry === undefined || !isActive(entry)) throw new ApiError(fraudErrors.blocklist_entry_not_found)
    return entry
  }

  function isActive({ expires_at }: FraudBlocklistEntry): boolean {
    return expires_at === null || expires_at > now()
  }
}

type Blocked = Exclude<BlocklistAnswer, { readonly outcome: 'not_found' }>

/** @throws ApiError `raw_card_number`, `invalid_request` */
function assertValid(body: NewEntry, hashes: PersonalHashes): CheckedEntry {
  const result = checkedEntry(body, hashes)
  if (result.fault === 'none') return result.checked
  const definition = result.fault === 'raw_card_number' ? fraudErrors.raw_card_number : errors.invalid_request
  throw new ApiError(definition, { details: [{ path: 'body.entity_value', message: result.message }] })
}

/**
 * Checks one entry of a bulk request.
 * @param place path of the entry in the body
 */
function checkItem(item: unknown, place: string, hashes: PersonalHashes): CheckedEntry | readonly ErrorDetail[] {
  const { value, details } = check(NewEntryBody, item, place)
  if (details.length > 0) return details
  const result = checkedEntry(value as NewEntry, hashes)
  return result.fault === 'none' ? result.checked : [{ path: `${place}.entity_value`, message: result.message }]
}

function isWrong<T extends object>(result: T | readonly ErrorDetail[]): result is readonly ErrorDetail[] {
  return Array.isArray(result)
}
