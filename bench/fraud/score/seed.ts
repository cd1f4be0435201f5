import { Redis } from 'ioredis'
import { registryClient } from '../../../kafka/registry.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { blocklistKey, entryIdOf } from '../../../schemas/fraud/blocklist/entity.ts'
import { fraudBlocklist } from '../../../schemas/fraud/blocklist/topics.ts'
import { entityKey } from '../../../schemas/fraud/entity.ts'
import { MAX_ACTIVE_RULES } from '../../../schemas/fraud/rules/rule.ts'
import { RULES_KEY } from '../../../schemas/fraud/settings/keys.ts'
import { fraudRulesets } from '../../../schemas/fraud/topics.ts'
import { profileKeys } from '../../../state/views/fraud/profiles.ts'
import { type Random, seededRandom } from '../../../tools/random/random.ts'
import { topicProducer } from '../../../tools/topic-producer.ts'
import { benchRules } from '../rule-load.ts'
import { benchProfile, benchWeek, OWN_KINDS, ownId } from './payments.ts'

const PAYMENTS_A_WEEK = 35
const SEEDED_AT_ONCE = 1_000
const SEED = 11
const ID_DIGITS = 16
/** The only partition of the topics on a small machine (schemas/fraud/topics.ts). */
const PARTITION = 0

/**
 * Writes the maximum number of active rules, in the same form as the settings topology. The rules' action is STEP_UP,
 * so that matching payments do not become cases.
 */
export async function seedRules(transport: Transport, registry: string, random: Random): Promise<void> {
  const rules = benchRules(MAX_ACTIVE_RULES, random).map((rule) => ({ ...rule, action: 'STEP_UP' as const }))
  const producer = await topicProducer(fraudRulesets)(transport, registryClient({ url: registry }))
  const nothing = { list: null, snooze: null, models: null, counts: null }
  producer.send(RULES_KEY, { ...nothing, rules: { version: 1, rules, history: [] } }, Date.now())
  await producer.flush()
  await producer.close()
}

/** Blocks devices that no payment uses. Writes the entries in the same form as the blocklist topology. */
export async function seedBlocklist(transport: Transport, registry: string, entries: number): Promise<void> {
  const now = Date.now()
  const producer = await topicProducer(fraudBlocklist)(transport, registryClient({ url: registry }))
  const common = { masked_value: null, reason: 'bench', blocked_by: 'bench', ttl_hours: null, created_at: now, expires_at: null }
  for (let index = 0; index < entries; index++) {
    const entity = { entity_type: 'DEVICE', entity_value: index.toString(16).padStart(ID_DIGITS, '0') } as const
    producer.send(blocklistKey(entity), { ...common, ...entity, entry_id: entryIdOf(entity) }, now)
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

/**
 * Writes profiles with a week of payments for users, their devices and their cards, in the form in which the sink
 * writes them. Returns the mean size of a user's profile in bytes.
 */
export async function seedProfiles(url: string, users: number): Promise<number> {
  const redis = new Redis(url)
  const random = seededRandom(SEED)
  const now = Date.now()
  let bytes = 0
  for (let from = 0; from < users; from += SEEDED_AT_ONCE) {
    const pipeline = redis.pipeline()
    for (let user = from; user < Math.min(users, from + SEEDED_AT_ONCE); user++) {
      const week = benchWeek(user, PAYMENTS_A_WEEK, now, random)
      for (const kind of OWN_KINDS) {
        const profile = benchProfile(kind, week)
        if (kind === 'user') bytes += profile.length
        pipeline.set(profileKeys(PARTITION, entityKey(kind, ownId(kind, user))).profile, profile)
      }
    }
    await pipeline.exec()
  }
  redis.disconnect()
  return bytes / users
}
