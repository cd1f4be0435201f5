import type { OpenService, ServiceKit } from '../service.ts'
import { openBlocklist } from './blocklist/in-force.ts'
import { blocklistPart } from './blocklist/part.ts'
import { deskPart } from './desk/part.ts'
import { fraudErrors } from './errors.ts'
import { openPersonalHashes } from './hash-key.ts'
import type { FraudPart } from './part.ts'
import type { FraudSettings } from './settings.ts'

export interface FraudDeps extends ServiceKit, FraudSettings {}

/** Creates the handlers of fraud scoring: docs/services/fraud.md */
export async function fraudHandlers(deps: FraudDeps): Promise<OpenService> {
  const hashes = openPersonalHashes(deps, deps.surroundings)
  const blocklist = await openBlocklist(deps)
  const parts: readonly FraudPart[] = [blocklistPart({ ...deps, blocklist, hashes }), deskPart()]
  return {
    name: 'fraud',
    description: 'Scores payments, and manages the rules, the blocklist and the cases of analysts.',
    isUserId: () => true,
    errors: Object.values(fraudErrors),
    probes: [...blocklist.probes, ...parts.flatMap(({ probes = [] }) => probes)],
    routes: parts.flatMap(({ routes }) => routes),
    async close() {
      await Promise.all(parts.map((part) => part.close?.()))
      await blocklist.close()
    },
  }
}
