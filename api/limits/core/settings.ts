import { type KafkaDeps, kafkaTransport } from '../../../kafka/client/index.ts'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { SEEDED_RULES } from '../../../schemas/limits/seeded-rules.ts'
import { limitClients, limitRules } from '../../../schemas/limits/topics.ts'
import type { LimitClient, LimitRule } from '../../../schemas/limits/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { type GlobalTable, globalTable } from '../../kit/global-table.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { ApiClients } from './caller.ts'
import type { RuleTable } from './matching.ts'
import { rulesInForce } from './rules-in-force.ts'

/** Rules and API keys in the memory of this instance, as the compacted topics hold them. */
export interface LimitSettings {
  /** undefined until all rules have been read. */
  rules(): RuleTable | undefined
  /** Whether requests are decided by all rules that `rule` returns. */
  areRulesInForce(): boolean
  /** With seeded and inactive ones. Throws ApiError `not_ready`. */
  allRules(): LimitRule[]
  /** Throws ApiError `not_ready`. */
  rule(ruleId: string): LimitRule | undefined
  readonly clients: ApiClients
  /** All keys, also revoked ones. Throws ApiError `not_ready`. */
  allClients(): LimitClient[]
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<void>
}

export interface LimitSettingsOptions {
  readonly brokers: readonly string[]
  readonly registry: SchemaRegistry
  readonly log: Logger
}

/** No schema has this id, so that each value is resolved from the schema that it was written with. */
const READ_ONLY_SCHEMA = -1

/** Reads the topics from now on until it is closed. */
export async function kafkaLimitSettings({ brokers, registry, log }: LimitSettingsOptions): Promise<LimitSettings> {
  // createLogger makes a pino logger, and the client accepts nothing else.
  const kafkaLog = log as unknown as KafkaDeps['log']
  const transport = kafkaTransport({ brokers: [...brokers], clientId: 'millrace-api-limits' }, { clock: Date, log: kafkaLog })
  const settings = await limitSettings({ transport: connectingTransport(transport), registry, log })
  return {
    ...settings,
    async close() {
      await settings.close()
      await transport.close()
    },
  }
}

/** Kafka may start later than this process, so the first question connects. */
function connectingTransport(transport: Transport): Transport {
  let connected: Promise<void> | undefined

  async function partitionCounts(topics: readonly string[]): Promise<Map<string, number>> {
    connected ??= transport.connect()
    try {
      await connected
    } catch (error) {
      connected = undefined
      throw error
    }
    return await transport.partitionCounts(topics)
  }

  return { ...transport, partitionCounts }
}

interface TableOptions {
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly log: Logger
}

async function limitSettings({ transport, registry, log }: TableOptions): Promise<LimitSettings> {
  const { schemas } = await openSerdes(registry, [])

  function table<V>(topic: Topic<string, V>, listeners: { onReady?(): void; onChange?(): void } = {}): GlobalTable<string, V> {
    return globalTable({
      transport,
      topic,
      values: topic.value.open(READ_ONLY_SCHEMA, schemas),
      loadSchema: schemas.load,
      log,
      ...listeners,
    })
  }

  const rules = table(limitRules, { onReady: () => inForce.ready(), onChange: () => inForce.changed() })
  const clients = table(limitClients)

  function allRules(): LimitRule[] {
    const stored = [...rules.entries()].map(([, rule]) => rule)
    const ids = new Set(stored.map(({ rule_id }) => rule_id))
    return [...SEEDED_RULES.filter(({ rule_id }) => !ids.has(rule_id)), ...stored]
  }

  const inForce = rulesInForce({
    allRules,
    schedule(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })

  return {
    rules: inForce.table,
    areRulesInForce: () => inForce.isCurrent,
    allRules,
    rule: (ruleId) => rules.get(ruleId) ?? SEEDED_RULES.find(({ rule_id }) => rule_id === ruleId),
    clients: {
      find(keyHash) {
        const found = clients.get(keyHash)
        if (found === undefined || found.revoked_at !== null) return undefined
        return { clientId: found.client_id, keyId: found.key_id, tier: found.tier }
      },
    },
    allClients: () => [...clients.entries()].map(([, client]) => client),
    probes: [rules.probe, clients.probe],
    async close() {
      await Promise.all([rules.close(), clients.close()])
      inForce.close()
    },
  }
}
