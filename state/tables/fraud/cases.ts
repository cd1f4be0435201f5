import type { Decision } from '../../../schemas/commands/topics.ts'
import type { FraudCase, FraudCaseStatus } from '../../../schemas/fraud/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth, isoTime, isoTimeOrNull } from '../time.ts'

const RETENTION_YEARS = 2

/**
 * The newest version of every case, kept for two years after the case was opened. Cases that were closed long ago are
 * stored nowhere else. Fed by `fraud-cases`. Read it with FINAL.
 */
export const fraudCasesTable: Table<string, Decision<FraudCase>> = {
  name: 'fraud_cases',
  columns: [
    'case_id UInt64',
    'transaction_id String',
    'user_id String',
    'risk_score UInt16',
    'decision LowCardinality(String)',
    'amount Float64',
    'currency LowCardinality(String)',
    'triggered_rules Array(LowCardinality(String))',
    'status LowCardinality(String)',
    'assigned_to Nullable(String)',
    'fraud_type Nullable(String)',
    'notes String',
    'verdict LowCardinality(Nullable(String))',
    "created_at DateTime64(3, 'UTC')",
    "updated_at DateTime64(3, 'UTC')",
    "resolved_at Nullable(DateTime64(3, 'UTC'))",
    'is_archived Bool',
    'version UInt32',
    // JSON of the whole case, for the API.
    'whole String CODEC(ZSTD(3))',
  ],
  orderBy: 'case_id',
  partitionBy: 'toYYYYMM(created_at)',
  ttl: `toDateTime(created_at) + INTERVAL ${RETENTION_YEARS} YEAR`,
  parts: ['INDEX of_transaction transaction_id TYPE bloom_filter(0.01) GRANULARITY 1'],
  rowsOf(_transactionId, decision) {
    const found = decision?.view ?? null
    if (found === null) return []
    const { transaction, history: _history, verdict_at: _at, created_at, updated_at, resolved_at, ...columns } = found
    const { transaction_id, user_id, risk_score, decision: decided, amount, currency, triggered_rules } = transaction
    return [
      {
        ...columns,
        transaction_id,
        user_id,
        risk_score,
        decision: decided,
        amount,
        currency,
        triggered_rules,
        created_at: isoTime(created_at),
        updated_at: isoTime(updated_at),
        resolved_at: isoTimeOrNull(resolved_at),
        whole: JSON.stringify(found),
      },
    ]
  },
  partitionOf: (_transactionId, decision) => isoMonth(decision.view?.created_at ?? 0),
}

const ARCHIVED_QUERY = `
SELECT toString(case_id)
FROM fraud_cases FINAL
WHERE is_archived AND status IN {statuses:Array(String)} AND ({anybody:Bool} OR assigned_to = {assigned_to:String})
ORDER BY fraud_cases.case_id DESC
LIMIT {count:UInt32}`

const ARCHIVED_COUNT_QUERY = `
SELECT count()
FROM fraud_cases FINAL
WHERE is_archived AND status IN {statuses:Array(String)} AND ({anybody:Bool} OR assigned_to = {assigned_to:String})`

export interface ArchivedQuery {
  readonly statuses: readonly FraudCaseStatus[]
  /** Undefined selects all cases, assigned or not. */
  readonly assignedTo: string | undefined
  /** Maximum number of ids. */
  readonly count: number
}

/**
 * Returns the ids of the newest archived cases that the query selects, newest first, and the number of all archived
 * cases that it selects. A case is archived some time after it was closed.
 */
export async function listArchivedCases(
  reader: TableReader,
  { statuses, assignedTo, count }: ArchivedQuery,
): Promise<{ readonly total: number; readonly ids: readonly string[] }> {
  const params = { statuses: [...statuses], anybody: assignedTo === undefined, assigned_to: assignedTo ?? '', count }
  const [found, [[total]]] = await Promise.all([
    readRows<[string]>(reader, ARCHIVED_QUERY, params),
    readRows<[number]>(reader, ARCHIVED_COUNT_QUERY, params),
  ])
  return { total, ids: found.map(([id]) => id) }
}

/** Returns the JSON of the given cases, keyed by id. Leaves out cases that are not in the table. */
export async function readTableCases(reader: TableReader, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const query = 'SELECT toString(case_id), whole FROM fraud_cases FINAL WHERE case_id IN {ids:Array(UInt64)}'
  return new Map(ids.length === 0 ? [] : await readRows<[string, string]>(reader, query, { ids: ids.map(BigInt) }))
}

/** Returns the JSON of a case; undefined if the table has none. The JSON may be older than the case in the view. */
export async function readTableCase(reader: TableReader, caseId: string): Promise<string | undefined> {
  const query = `SELECT whole FROM fraud_cases WHERE case_id = {id:UInt64} ORDER BY version DESC, is_archived DESC LIMIT 1`
  const [row] = await readRows<[string]>(reader, query, { id: caseId })
  return row?.[0]
}

/**
 * Returns the JSON of a transaction's case; undefined if the table has none. If a later payment had the same id,
 * returns the newest case.
 */
export async function readTableCaseOf(reader: TableReader, transactionId: string): Promise<string | undefined> {
  const query = `SELECT whole FROM fraud_cases WHERE transaction_id = {id:String} ORDER BY created_at DESC, version DESC, is_archived DESC LIMIT 1`
  const [row] = await readRows<[string]>(reader, query, { id: transactionId })
  return row?.[0]
}
