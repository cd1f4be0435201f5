import type { FraudSettingsChange } from '../../../schemas/fraud/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoMonth } from '../time.ts'

const AUDIT_YEARS = 2

/** The history of changes to the settings of fraud scoring. Fed by `fraud-audit`. */
export const fraudAuditTable: Table<string, FraudSettingsChange> = {
  name: 'fraud_audit',
  columns: [
    'at DateTime64(3)',
    'subject String',
    'action LowCardinality(String)',
    'actor String',
    'version Nullable(UInt64)',
    'before Nullable(String)',
    'after Nullable(String)',
  ],
  // Includes the offset, because two changes of one subject may have the same time.
  orderBy: '(subject, at, kafka_partition, kafka_offset)',
  partitionBy: 'toYYYYMM(at)',
  ttl: `toDateTime(at) + INTERVAL ${AUDIT_YEARS} YEAR`,
  rowsOf: (_subject, change) => (change === null ? [] : [{ ...change, at: new Date(change.at).toISOString() }]),
  partitionOf: (_subject, change) => isoMonth(change.at),
}

/** A change as it was read. The texts are JSON. */
export interface FraudAuditRow extends FraudSettingsChange {
  /** Whether `before` or `after` is null because it is longer than was asked for. */
  readonly is_shortened: boolean
}

export interface FraudAuditQuery {
  /** Undefined selects all subjects. */
  readonly subject: string | undefined
  readonly offset: number
  readonly limit: number
  /** Texts with more bytes are left out. A list or a whole rule set has a mebibyte. */
  readonly maxTextBytes: number
}

const AUDIT_QUERY = `
SELECT subject, action, actor, toUnixTimestamp64Milli(at), version,
  if(length(before) > {maxTextBytes:UInt32}, NULL, before), if(length(after) > {maxTextBytes:UInt32}, NULL, after),
  toUInt8(ifNull(length(before), 0) > {maxTextBytes:UInt32} OR ifNull(length(after), 0) > {maxTextBytes:UInt32})
FROM fraud_audit FINAL
WHERE {subject:String} = '' OR subject = {subject:String}
ORDER BY at DESC, kafka_partition DESC, kafka_offset DESC
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

/** Returns changes of settings, newest first. */
export async function readFraudAudit(reader: TableReader, { subject, ...query }: FraudAuditQuery): Promise<FraudAuditRow[]> {
  type Found = [string, string, string, number, number | null, string | null, string | null, number]
  const rows = await readRows<Found>(reader, AUDIT_QUERY, { subject: subject ?? '', ...query })
  return rows.map(([of, action, actor, at, version, before, after, shortened]) => ({
    subject: of,
    action,
    actor,
    at,
    version,
    before,
    after,
    is_shortened: shortened === 1,
  }))
}
