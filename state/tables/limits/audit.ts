import type { LimitChange } from '../../../schemas/limits/types.ts'
import { auditTable } from '../audit.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Page } from './page.ts'

/** The history of changes to rules and API keys. Fed by `limit-audit`. */
export const limitAuditTable = auditTable<LimitChange>('limit_audit')

const AUDIT_QUERY = `
SELECT subject, action, actor, toUnixTimestamp64Milli(at), before, after
FROM limit_audit FINAL
WHERE {subject:String} = '' OR subject = {subject:String}
ORDER BY at DESC, kafka_partition DESC, kafka_offset DESC
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

/**
 * Returns changes to rules and API keys, newest first.
 * @param subject undefined selects all subjects
 */
export async function readAudit(reader: TableReader, subject: string | undefined, page: Page) {
  type Found = [string, string, string, number, string | null, string | null]
  const rows = await readRows<Found>(reader, AUDIT_QUERY, { subject: subject ?? '', ...page })
  return rows.map(([of, action, actor, at, before, after]) => ({ subject: of, action, actor, at, before, after }))
}
