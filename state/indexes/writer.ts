import { TargetUnavailableError } from '../unavailable.ts'
import { CONFLICT, NOT_FOUND, reasonOf, requireSuccess } from './answers.ts'
import { pathPart, type SearchClient } from './client.ts'
import { POSITION_FIELD } from './search-index.ts'

export interface DocumentChange {
  readonly id: string
  /** A change with a lower version than the document's is ignored. */
  readonly version: number
  /** The document as JSON text; null deletes it. */
  readonly source: string | null
}

/** A document that the index will never accept, however often it is sent. */
export interface RefusedDocument {
  /** Position of the document's change in the array that was passed to `write`. */
  readonly at: number
  readonly reason: string
}

export interface Position {
  readonly topicId: string
  /** Offset of the first record that the index lacks. */
  readonly next: number
  /** Version of the stored position, which the next `putPosition` must pass. */
  readonly stamp: PositionStamp
}

export interface PositionStamp {
  readonly seqNo: number
  readonly primaryTerm: number
}

/** Result of a call when the index, or the alias through which the writer uses it, no longer exists. */
export const INDEX_GONE = Symbol('index gone')
/** Result of `putPosition` when another process has written the position in the meantime. */
export const POSITION_MOVED = Symbol('position moved')

/** Writes to one concrete index. */
export interface IndexWriter {
  /**
   * Applies the changes at the writer's pace, in bulks of about 5 MiB at most unless a single document is larger. The
   * order of the changes does not matter, because each change has a version. Writing a change more than once is
   * harmless.
   * @returns the documents that are refused permanently
   * @throws TargetUnavailableError when a retry may help
   */
  write(changes: readonly DocumentChange[]): Promise<RefusedDocument[] | typeof INDEX_GONE>
  /** @returns undefined when the index has no position for the partition */
  position(topic: string, partition: number): Promise<Position | undefined | typeof INDEX_GONE>
  /**
   * Stores the position unless it has changed since `stamp` was read (undefined: there was no position).
   * @throws TargetUnavailableError when a retry may help. The position may have been stored nevertheless.
   */
  putPosition(
    place: PartitionPosition,
    stamp: PositionStamp | undefined,
  ): Promise<PositionStamp | typeof POSITION_MOVED | typeof INDEX_GONE>
}

export interface PartitionPosition {
  readonly topic: string
  readonly partition: number
  readonly topicId: string
  readonly next: number
}

/** How fast a writer sends the bulks of one `write`. */
export interface WritePace {
  /** Number of bulks that are sent concurrently. */
  readonly bulksInFlight: number
  /** Maximum number of documents in a bulk. */
  readonly documentsPerBulk: number
  /** Sends a bulk, and resolves or rejects when the next one may be sent. */
  readonly inTurn: <T>(send: () => Promise<T>) => Promise<T>
}

/** Sends two bulks at a time, so that the server receives the next bulk while it processes the current one. */
export const FULL_PACE: WritePace = { bulksInFlight: 2, documentsPerBulk: 1_000, inTurn: (send) => send() }
const MAX_BULK_BYTES = 5 * 1024 * 1024
const BULK_TIMEOUT_MS = 60_000
/** How long the server itself waits for a shard that is unavailable. */
const SHARD_WAIT = '2s'
const CONTENT_TOO_LARGE = 413
const TOO_MANY_REQUESTS = 429
const FORBIDDEN = 403
const FIRST_ERROR = 300
const FIRST_SERVER_ERROR = 500

/** @param address an alias of one concrete index: `sinkAlias` or `builderAlias` */
export function indexWriter(address: string, client: SearchClient, pace: WritePace = FULL_PACE): IndexWriter {
  const path = `/${pathPart(address)}`
  // Without `require_alias`, a write to an alias that no longer exists could create an index of that name.
  const options = `timeout=${SHARD_WAIT}&require_alias=true`

  async function write(changes: readonly DocumentChange[]): Promise<RefusedDocument[] | typeof INDEX_GONE> {
    const refused: RefusedDocument[] = []
    let [next, isGone, hasFailed] = [0, false, false]
    async function writeOn(): Promise<void> {
      while (next < changes.length && !isGone && !hasFailed) {
        const from = next
        next = endOfBulk(changes, from, pace.documentsPerBulk)
        const some = changes.slice(from, next)
        const found = await pace
          .inTurn(() => bulk(some))
          .catch((error) => {
            hasFailed = true
            throw error
          })
        if (found === INDEX_GONE) isGone = true
        else refused.push(...found.map(({ at, reason }) => ({ at: from + at, reason })))
      }
    }
    // Waits for every bulk, even after a failure, so that a retry does not compete with bulks still in flight.
    const results = await Promise.allSettled(Array.from({ length: pace.bulksInFlight }, writeOn))
    for (const result of results) if (result.status === 'rejected') throw result.reason
    return isGone ? INDEX_GONE : refused.sort((one, other) => one.at - other.at)
  }

  async function bulk(changes: readonly DocumentChange[]): Promise<RefusedDocument[] | typeof INDEX_GONE> {
    const filter = 'errors,items.*.status,items.*.error.type,items.*.error.reason,items.*.error.caused_by.reason'
    const answer = await client.call({
      method: 'POST',
      path: `${path}/_bulk?${options}&filter_path=${filter}`,
      body: changes.map(linesOf).join(''),
      timeoutMs: BULK_TIMEOUT_MS,
    })
    if (answer.status === NOT_FOUND) return INDEX_GONE
    if (answer.status === CONTENT_TOO_LARGE && changes.length === 1) return [{ at: 0, reason: 'the document is too large' }]
    requireSuccess(answer, `writing to ${address}`)
    const { errors, items } = answer.body as { errors: boolean; items: readonly Record<string, BulkItem>[] }
    return errors ? refusalsOf(items.map((item) => Object.values(item)[0])) : []
  }

  function refusalsOf(items: readonly BulkItem[]): RefusedDocument[] | typeof INDEX_GONE {
    const refused: RefusedDocument[] = []
    for (const [at, { status, error }] of items.entries()) {
      if (status < FIRST_ERROR || status === CONFLICT) continue
      if (status === NOT_FOUND && error === undefined) continue // The document to delete does not exist.
      if (status === NOT_FOUND) return INDEX_GONE
      if (status === TOO_MANY_REQUESTS || status === FORBIDDEN || status >= FIRST_SERVER_ERROR) {
        // 403 means that the server has made the index read-only, because its disk is nearly full.
        throw new TargetUnavailableError(`the search server refused a document for now (${status}): ${reasonOf(error)}`)
      }
      refused.push({ at, reason: reasonOf(error) })
    }
    return refused
  }

  async function position(topic: string, partition: number): Promise<Position | undefined | typeof INDEX_GONE> {
    const answer = await client.call({ method: 'GET', path: `${path}/_doc/${pathPart(positionId(topic, partition))}` })
    if (answer.status === NOT_FOUND) return answer.body.found === false ? undefined : INDEX_GONE
    requireSuccess(answer, `reading a position of ${address}`)
    const { _source: source, _seq_no: seqNo, _primary_term: primaryTerm } = answer.body
    const { topic_id: topicId, next } = source[POSITION_FIELD]
    return { topicId, next, stamp: { seqNo, primaryTerm } }
  }

  async function putPosition(place: PartitionPosition, stamp: PositionStamp | undefined) {
    const condition = stamp === undefined ? 'op_type=create' : `if_seq_no=${stamp.seqNo}&if_primary_term=${stamp.primaryTerm}`
    const { topic, partition, topicId, next } = place
    const answer = await client.call({
      method: 'PUT',
      path: `${path}/_doc/${pathPart(positionId(topic, partition))}?${options}&${condition}`,
      body: { [POSITION_FIELD]: { topic_id: topicId, next } },
    })
    if (answer.status === CONFLICT) return POSITION_MOVED
    if (answer.status === NOT_FOUND) return INDEX_GONE
    if (answer.status === FORBIDDEN) throw new TargetUnavailableError(`index ${address} is read-only: ${reasonOf(answer.body.error)}`)
    requireSuccess(answer, `storing a position of ${address}`)
    return { seqNo: answer.body._seq_no as number, primaryTerm: answer.body._primary_term as number }
  }

  return { write, position, putPosition }
}

function endOfBulk(changes: readonly DocumentChange[], from: number, maxDocuments: number): number {
  let bytes = 0
  let to = from
  while (to < changes.length && to - from < maxDocuments) {
    bytes += Buffer.byteLength(changes[to].source ?? '')
    if (to > from && bytes > MAX_BULK_BYTES) break
    to++
  }
  return to
}

function linesOf({ id, version, source }: DocumentChange): string {
  const action = JSON.stringify({ [source === null ? 'delete' : 'index']: { _id: id, version, version_type: 'external_gte' } })
  return source === null ? `${action}\n` : `${action}\n${source}\n`
}

function positionId(topic: string, partition: number): string {
  return `position:${topic}:${partition}`
}

interface BulkItem {
  readonly status: number
  readonly error?: unknown
}
