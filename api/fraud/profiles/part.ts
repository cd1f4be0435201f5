import { canonicalId, canonicalIp } from '../../../schemas/fraud/canonical.ts'
import type { EntityKind } from '../../../schemas/fraud/entity.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors, invalidRequest } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { IpFactsOf } from '../ip/ip-facts.ts'
import type { FraudPart } from '../part.ts'
import type { EntityProfiles } from './entity-profiles.ts'
import { profileJson } from './model.ts'
import { profileRoute } from './routes.ts'

export interface ProfilesDeps {
  readonly profiles: Pick<EntityProfiles, 'find'>
  readonly ipFactsOf: IpFactsOf
  /** Epoch ms. */
  now(): number
}

/** Creates the route that reads profiles. */
export function profilesPart({ profiles, ipFactsOf, now }: ProfilesDeps): FraudPart {
  return {
    routes: [
      bind(profileRoute, async ({ params: { kind, id: given } }) => {
        const id = idOf(kind, given)
        const held = await profiles.find(kind, id)
        if (held === 'failed') throw new ApiError(errors.not_ready, { message: 'The profiles cannot be read now. Try again shortly.' })
        const json = profileJson({ kind, id, held, ip: ipFactsOf(kind === 'ip' ? id : null), now: now() })
        if (json === undefined) throw new ApiError(fraudErrors.entity_not_found)
        return jsonAnswer(200, json, PRIVATE)
      }),
    ],
  }
}

function idOf(kind: EntityKind, given: string): string {
  if (kind !== 'ip') return canonicalId(given)
  const address = canonicalIp(given)
  if (address === undefined) throw invalidRequest('path.id', 'must be an IPv4 or IPv6 address')
  return address
}
