import type { OpenService, ServiceKit } from '../service.ts'
import { fraudErrors } from './errors.ts'
import type { FraudPart } from './part.ts'
import type { FraudSettings } from './settings.ts'

export interface FraudDeps extends ServiceKit, FraudSettings {}

/** Creates the handlers of fraud scoring: docs/services/fraud.md */
export async function fraudHandlers(_deps: FraudDeps): Promise<OpenService> {
  const parts: readonly FraudPart[] = []
  return {
    name: 'fraud',
    description: 'Scores payments, and manages the rules, the blocklist and the cases of analysts.',
    isUserId: () => true,
    errors: Object.values(fraudErrors),
    probes: parts.flatMap(({ probes = [] }) => probes),
    routes: parts.flatMap(({ routes }) => routes),
    async close() {
      await Promise.all(parts.map((part) => part.close?.()))
    },
  }
}
