import { Gauge, type Registry } from 'prom-client'
import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import type { Transport } from '../../../kafka/transport.ts'
import { seededLimits } from '../../../schemas/catalogue.ts'
import { limitClients, limitRules } from '../../../schemas/limits/topics.ts'
import type { LimitClient, LimitRule } from '../../../schemas/limits/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { type GlobalTable, globalTable } from '../../kit/global-table.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ReadinessProbe } from '../../kit/readiness.ts'
import type { ApiClients } from './caller.ts'
import { compileRules, type RuleTable } from './matching.ts'
import { rulesInForce } from './rules-in-force.ts'

/** Rules and API keys in memory, read from the compacted topics. */
export interface LimitSettings {
  /** Returns the rules. Until all rules have been read, only the seeded rules apply. */
  rules(): RuleTable
  /** Returns whether the rules in force already include every change that `rule` and `allRules` return. */
  areRulesInForce(): boolean
  /** Returns all rules, including seeded and inactive rules. Throws ApiError `not_ready`. */
  allRules(): LimitRule[]
  /** Returns a rule, even an inactive one; undefined if there is none. Throws ApiError `not_ready`. */
  rule(ruleId: string): LimitRule | undefined
  readonly clients: ApiClients
  /** Returns all API keys, including revoked keys. Throws ApiError `not_ready`. */
  allClients(): LimitClient[]
  readonly probes: readonly ReadinessProbe[]
  close(): Promise<void>
}

export interface LimitSettingsOptions {
  /** The transport of the process. Kafka need not be reachable yet. */
  readonly transport: Transport
  readonly registry: SchemaRegistry
  readonly log: Logger
  readonly metrics: Registry
}

/** An id that no schema has, so that each value is resolved from the schema that it was written with. */
const READ_ONLY_SCHEMA = -1
const MS_PER_SECOND = 1_000

function staleGauge(metrics: Registry, tables: Readonly<Record<string, Pick<GlobalTable<string, unknown>, 'staleMs'>>>): void {
  new Gauge({
    name: 'global_table_stale_seconds',
    help: 'How long an in-memory table has been unable to read its topic; 0 while reads succeed',
    labelNames: ['topic'],
    registers: [metrics],
    collect() {
      for (const [topic, { staleMs }] of Object.entries(tables)) this.set({ topic }, staleMs / MS_PER_SECOND)
    },
  })
}

/**
 * Opens the settings. They follow the topics until they are closed. An API process that starts while Kafka is
 * unavailable works without the topics: seeded rules apply, and API keys are not looked up.
 */
export async function limitSettings({ transport, registry, log, metrics }: LimitSettingsOptions): Promise<LimitSettings> {
  const { schemas } = await openSerdes(registry, [])

  function table<V>(topic: Topic<string, V>, listeners: { onReady?(): void; onChange?(): void } = {}): GlobalTable<string, V> {
    return globalTable({
      transport,
      topic,
      values: topic.value.open(READ_ONLY_SCHEMA, schemas),
      loadSchema: schemas.load,
      log,
      hasFallback: true,
      ...listeners,
    })
  }

  const rules = table(limitRules, { onReady: () => inForce.ready(), onChange: () => inForce.changed() })
  const clients = table(limitClients)
  staleGauge(metrics, { [limitRules.name]: rules, [limitClients.name]: clients })

  function allRules(): LimitRule[] {
    const stored = [...rules.entries()].map(([, rule]) => rule)
    const ids = new Set(stored.map(({ rule_id }) => rule_id))
    return [...seededLimits.filter(({ rule_id }) => !ids.has(rule_id)), ...stored]
  }

  const inForce = rulesInForce({
    allRules,
    schedule(run, ms) {
      const timer = setTimeout(run, ms)
      return () => clearTimeout(timer)
    },
  })

  const seeded = compileRules(seededLimits)

  return {
    rules: () => inForce.table() ?? seeded,
    areRulesInForce: () => inForce.isCurrent,
    allRules,
    rule: (ruleId) => rules.get(ruleId) ?? seededLimits.find(({ rule_id }) => rule_id === ruleId),
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
