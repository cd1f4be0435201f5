import type { OpenService, ServiceKit } from '../service.ts'
import { trendsHandlers } from './handlers.ts'
import { openBlockedTerms } from './hidden/blocked-terms.ts'

export async function openTrends(kit: ServiceKit): Promise<OpenService> {
  const blocked = await openBlockedTerms(kit)
  return { ...trendsHandlers({ ...kit, blocked }), close: () => blocked.close() }
}
