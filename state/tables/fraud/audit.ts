import type { FraudSettingsChange } from '../../../schemas/fraud/types.ts'
import { auditTable } from '../audit.ts'
import { readRows, type TableReader } from '../reader.ts'

/**
 * Changes to the settings of fraud scoring and to the blocklist, and answers that became BLOCK when their request was
 * repeated. Fed by `fraud-audit`.
 */
export const fraudAuditTable = auditTable<FraudSettingsChange>('fraud_audit', ['version Nullable(UInt64)'])

/** A change as read from the table. `before` and `after` are JSON. */
export interface FraudAuditRow extends FraudSettingsChange {
  /** Whether `before` or `after` is null because it is longer than `maxTextBytes`. */
  readonly is_shortened: boolean
}

export interface FraudAuditQuery {
  /** Undefined selects all subjects. */
  readonly subject: string | undefined
  readonly offset: number
  readonly limit: number
  /**
   * Maximum size of `before` and `after`; longer texts are left out. The text of a list or of a whole rule set can be 1
   * MiB long.
   */
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

/** Returns the changes of the selected subject or of all subjects, newest first. */
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
