import { projection } from '../../../schemas/avro/projection.ts'
import { BLOCKLIST_TYPES, blocklistKey } from '../../../schemas/fraud/blocklist/entity.ts'
import { fraudBlocklist } from '../../../schemas/fraud/blocklist/topics.ts'
import type { FraudBlocklistEntry, FraudBlocklistType, FraudRequest } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Packing } from '../../kit/packed/packed-table.ts'
import type { ServiceKit } from '../../service.ts'
import type { BlocklistInForce } from '../in-force.ts'

/** The blocklist in this process's memory. */
export interface OpenBlocklist extends BlocklistInForce {
  /** Returns whether an entity is blocked. Like `find`, throws ApiError `not_ready`. */
  has(entity: Pick<FraudBlocklistEntry, 'entity_type' | 'entity_value'>): boolean
}

/**
 * The part of an entry that is kept in memory. Scoring depends only on whether an entry exists and when it expires.
 */
type Presence = Pick<FraudBlocklistEntry, 'expires_at'>

const presences: Topic<string, Presence> = { ...fraudBlocklist, value: projection<Presence>(fraudBlocklist.value, ['expires_at']) }

const PRESENCE: Packing<Presence, true> = {
  version: 1,
  bytes: 0,
  pack() {},
  unpack: () => true,
  expiresAt: ({ expires_at }) => expires_at ?? undefined,
}

/** For each type of entity, a function that returns the entity's value in a request. */
const VALUE_OF: Readonly<Record<FraudBlocklistType, (request: FraudRequest) => string | null>> = {
  USER: ({ payer }) => payer.user_id,
  DEVICE: ({ device }) => device.fingerprint_id,
  IP: ({ device }) => device.ip_address,
  CARD_HASH: ({ payment_instrument }) => payment_instrument.card_hash,
  EMAIL: ({ payer }) => payer.email_hash,
}

/** Reads the blocklist into memory, and keeps the copy up to date until `close` is called. */
export async function openBlocklist({ packedTables }: Pick<ServiceKit, 'packedTables'>): Promise<OpenBlocklist> {
  const table = await packedTables(presences, PRESENCE)

  function has(entity: Pick<FraudBlocklistEntry, 'entity_type' | 'entity_value'>): boolean {
    return table.get(blocklistKey(entity)) === true
  }

  return {
    has,
    find(request) {
      return BLOCKLIST_TYPES.find((entity_type) => {
        const entity_value = VALUE_OF[entity_type](request)
        return entity_value !== null && has({ entity_type, entity_value })
      })
    },
    get isStale() {
      return table.isStale
    },
    probes: table.probes,
    close: table.close,
  }
}
