import { newestFirst, partitionOfCase } from '../../../schemas/fraud/cases/case-id.ts'
import type { FraudCase, FraudCaseStatus } from '../../../schemas/fraud/types.ts'
import { readableJson } from '../readable.ts'
import {
  areCaughtUp,
  type ListReader,
  NOT_CAUGHT_UP,
  type View,
  type ViewContext,
  type ViewOperation,
  type ViewReader,
  viewTag,
  withCaughtUp,
} from '../view.ts'

/**
 * Cases for analysts. Fed by `fraud-cases` and partitioned like it. The partition also contains results of commands;
 * see ../results.ts. Cases that were closed long ago are in ClickHouse only.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-cases:<p>}:case:<case_id>` | JSON of a FraudCase |
 * | `{fraud-cases:<p>}:txn:<transaction_id>` | JSON of the case's Place, which shows from which lists the case must be removed |
 * | `{fraud-cases:<p>}:status:<status>` | sorted set: ids of the cases with this status by creation time |
 * | `{fraud-cases:<p>}:assigned:<status>:<analyst>` | sorted set: ids of the cases with this status that are assigned to the analyst |
 */
export const FRAUD_CASES_VIEW = 'fraud-cases'

/** The fields of a case that determine which lists contain the case. */
interface Place {
  readonly case_id: string
  readonly status: FraudCaseStatus
  readonly assigned_to: string | null
}

export const fraudCasesView: View<string, FraudCase> = {
  name: FRAUD_CASES_VIEW,
  operationsFor(partition, transactionId, found, context) {
    const operations = leaving(partition, context)
    const key = transactionKey(partition, transactionId)
    if (found === null || found.is_archived) return [...operations, { op: 'del', key }]
    const { case_id, status, assigned_to } = found
    const place: Place = { case_id, status, assigned_to }
    const lists = listsOf(partition, place).map(
      (list): ViewOperation => ({ op: 'zadd', key: list, score: found.created_at, member: case_id }),
    )
    return [
      ...operations,
      { op: 'set', key, value: JSON.stringify(place) },
      { op: 'set', key: caseKey(partition, case_id), value: JSON.stringify(found) },
      ...lists,
    ]
  },
  heldKey: transactionKey,
}

/** Returns the operations that remove a case and its list entries from the view. */
function leaving(partition: number, context: ViewContext | undefined): ViewOperation[] {
  const place = readableJson<Place>(context?.held ?? null)
  if (place === undefined) return []
  const lists = listsOf(partition, place).map((list): ViewOperation => ({ op: 'zrem', key: list, member: place.case_id }))
  return [...lists, { op: 'del', key: caseKey(partition, place.case_id) }]
}

function listsOf(partition: number, { status, assigned_to }: Place): string[] {
  const lists = [listKey(partition, status, undefined)]
  return assigned_to === null ? lists : [...lists, listKey(partition, status, assigned_to)]
}

/** Reads a case by its id. The id also determines the partition. */
export async function readCase(
  reader: ViewReader,
  partition: number,
  caseId: string,
): Promise<FraudCase | undefined | typeof NOT_CAUGHT_UP> {
  const text = await withCaughtUp(reader, FRAUD_CASES_VIEW, partition, reader.get(caseKey(partition, caseId)))
  return typeof text === 'string' ? (JSON.parse(text) as FraudCase) : text === null ? undefined : text
}

/**
 * Returns whether a transaction has a case that is not archived.
 * @param partition the partition of the transaction's id
 */
export async function hasCase(reader: ViewReader, partition: number, transactionId: string): Promise<boolean | typeof NOT_CAUGHT_UP> {
  const text = await withCaughtUp(reader, FRAUD_CASES_VIEW, partition, reader.get(transactionKey(partition, transactionId)))
  return text === NOT_CAUGHT_UP ? text : text !== null
}

export interface CaseListQuery {
  readonly statuses: readonly FraudCaseStatus[]
  /** Undefined selects all cases, assigned or not. */
  readonly assignedTo: string | undefined
  /** Maximum number of ids. */
  readonly count: number
}

/**
 * Returns the ids of the newest cases that the query selects, newest first, and the number of all cases that it
 * selects.
 */
export async function listCases(
  reader: ViewReader & ListReader,
  partitions: number,
  { statuses, assignedTo, count }: CaseListQuery,
): Promise<{ readonly total: number; readonly ids: readonly string[] } | typeof NOT_CAUGHT_UP> {
  const places = Array.from({ length: partitions }, (_, partition) => partition)
  const keys = places.flatMap((partition) => statuses.map((status) => listKey(partition, status, assignedTo)))
  const [lists, isComplete] = await Promise.all([
    Promise.all(keys.map((key) => Promise.all([reader.zcard(key), reader.zrevrange(key, 0, count - 1)]))),
    areCaughtUp(reader, FRAUD_CASES_VIEW, places),
  ])
  if (!isComplete) return NOT_CAUGHT_UP
  const ids = lists.flatMap(([, newest]) => newest).sort(newestFirst)
  return { total: lists.reduce((sum, [total]) => sum + total, 0), ids: ids.slice(0, count) }
}

/** Returns the requested cases that still exist, in the given order. */
export async function readCases(reader: ViewReader, ids: readonly string[]): Promise<FraudCase[]> {
  const texts = await Promise.all(ids.map((id) => reader.get(caseKey(partitionOfCase(id) ?? 0, id))))
  return texts.flatMap((text) => readableJson<FraudCase>(text) ?? [])
}

function caseKey(partition: number, caseId: string): string {
  return `${viewTag(FRAUD_CASES_VIEW, partition)}:case:${caseId}`
}

function transactionKey(partition: number, transactionId: string): string {
  return `${viewTag(FRAUD_CASES_VIEW, partition)}:txn:${transactionId}`
}

function listKey(partition: number, status: FraudCaseStatus, assignedTo: string | undefined): string {
  const tag = viewTag(FRAUD_CASES_VIEW, partition)
  return assignedTo === undefined ? `${tag}:status:${status}` : `${tag}:assigned:${status}:${assignedTo}`
}
