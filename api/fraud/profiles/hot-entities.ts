import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import type { FraudEvent } from '../../../schemas/fraud/event.ts'
import { profileFromBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { type RunningFold, runningFold } from '../../../schemas/fraud/profile/running-fold.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { type HeldBytes, type HeldEntity, heldEntity, heldSeconds, isInFlight } from '../../../state/views/fraud/enrich.ts'
import { FLIGHT_BYTES, inFlightAt, MOST_IN_FLIGHT } from '../../../state/views/fraud/in-flight.ts'

/**
 * An entity with at least this many transactions in flight is hot. Folding fewer transactions again is cheaper than
 * remembering the result.
 */
const HOT_FROM = 8
/**
 * Maximum number of entities that are remembered. The least recently used entity is evicted first. Each entity takes
 * about 60 KiB for the rows and the resulting profile.
 */
const MOST_HOT = 128

/** The remembered result of folding an entity's transactions in flight. */
interface Folded {
  readonly profile: Buffer | null
  /** The encoded transactions in flight that were folded. */
  readonly rows: Buffer
  end: number
  readonly fold: RunningFold
  readonly ids: Set<number>
  /** When the first of the folded transactions was added to the transactions in flight, epoch ms. */
  earliest: number
}

/**
 * Folds the transactions in flight of hot entities. In a burst, each payment finds the same transactions in flight as
 * the previous payment, plus a few more. The result of the last fold is therefore kept, and only the new transactions
 * are added to it. The kept result is valid if Redis returns the same profile and a list of transactions in flight that
 * begins with the folded transactions. This check needs no messages from other processes.
 */
export class HotEntities {
  /** Remembered entities, keyed by the key of their profile. The most recently used entity comes last. */
  readonly #folded = new Map<string, Folded>()

  /**
   * Reads an answer from Redis, like `heldEntity`. For a hot entity, the returned profile normally includes the
   * transactions in flight already.
   * @param entity the key of the profile
   * @param id hash of the id of the transaction that is being scored. If this transaction is in flight, it stays in the
   * returned list, and the caller must leave it out.
   * @returns undefined if a different version wrote the profile
   */
  read(kind: EntityKind, entity: string, held: HeldBytes, id: number, now: number): HeldEntity | undefined {
    const { profile, flight, counted } = held
    if (flight === null || flight.length < HOT_FROM * FLIGHT_BYTES) return heldEntity(held, now)
    const known = this.#folded.get(entity)
    const isKnown = known !== undefined && isSame(known.profile, profile) && beginsWith(flight, known.rows, known.end)
    const folded = isKnown ? known : begun(kind, profile)
    if (folded === undefined) return undefined
    addRows(folded, flight)
    this.#remember(entity, folded)
    // The kept result is not used if it includes the transaction that is being scored or an expired transaction. A fold
    // cannot remove transactions, so all other transactions are folded again.
    if (folded.ids.has(id) || !isInFlight(folded.earliest, now)) return heldEntity(held, now)
    return { profile: folded.fold.current, inFlight: [], inFlightSeconds: heldSeconds(counted) }
  }

  #remember(entity: string, folded: Folded): void {
    this.#folded.delete(entity)
    this.#folded.set(entity, folded)
    if (this.#folded.size <= MOST_HOT) return
    for (const oldest of this.#folded.keys()) {
      this.#folded.delete(oldest)
      return
    }
  }
}

/**
 * Starts a fold with the stored profile of an entity.
 * @returns undefined if a different version wrote the profile
 */
function begun(kind: EntityKind, bytes: Buffer | null): Folded | undefined {
  // The profile is copied, because a subarray would keep its whole buffer in memory, and the buffer contains several
  // answers from Redis.
  const profile = bytes === null ? null : Buffer.from(bytes)
  const start = profile === null ? NEW_PROFILE : profileFromBytes(profile)
  if (start === undefined) return undefined
  const rows = Buffer.allocUnsafeSlow(MOST_IN_FLIGHT * FLIGHT_BYTES)
  const fold = runningFold(start, PROFILE_SHAPES[kind])
  return { profile, rows, end: 0, fold, ids: new Set(), earliest: Number.POSITIVE_INFINITY }
}

/** Folds the rows that have not been folded yet. */
function addRows(folded: Folded, flight: Buffer): void {
  const events: FraudEvent[] = []
  for (let at = folded.end; at < flight.length; at += FLIGHT_BYTES) {
    const { event, addedAt } = inFlightAt(flight, at)
    events.push(event)
    folded.ids.add(event.id)
    folded.earliest = Math.min(folded.earliest, addedAt)
  }
  if (events.length === 0) return
  flight.copy(folded.rows, folded.end, folded.end)
  folded.end = flight.length
  folded.fold.add(events)
}

function isSame(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other)
}

function beginsWith(bytes: Buffer, start: Buffer, length: number): boolean {
  return bytes.length >= length && bytes.compare(start, 0, length, 0, length) === 0
}
