import { onTestFinished } from 'vitest'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { listsPart } from '../../../../api/fraud/lists/part.ts'
import { modelAssignments } from '../../../../api/fraud/models/assignment.ts'
import { type ModelFolders, readModelFolders } from '../../../../api/fraud/models/folder.ts'
import type { ActiveModels } from '../../../../api/fraud/models/loading.ts'
import { modelsPart } from '../../../../api/fraud/models/part.ts'
import { rulesPart } from '../../../../api/fraud/rules/part.ts'
import { settingsCommands } from '../../../../api/fraud/settings-commands.ts'
import { openSettingsInForce } from '../../../../api/fraud/settings-in-force.ts'
import { snoozesPart } from '../../../../api/fraud/snoozes/part.ts'
import { createCommands } from '../../../../api/kit/commands/commands.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import type { ServiceRoutes } from '../../../../api/kit/service-routes.ts'
import { fraudSettingsTopology } from '../../../../pipelines/fraud/settings/topology.ts'
import { personalHashes } from '../../../../schemas/fraud/personal-hash.ts'
import { fraudSettingsFlow } from '../../../../schemas/fraud/settings/flow.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { fraudRuleSetsView } from '../../../../state/views/fraud/rule-sets.ts'
import { decisionView } from '../../../../state/views/results.ts'
import { decidedWorld } from '../../kit/commands/decided-world.ts'
import { START, type TokenClaims, testApp } from '../../kit/harness.ts'
import { tablesOfDriver } from './follow-driver.ts'

/** The command timeout. It is much longer than a decision in memory takes. */
const TIMEOUT_MS = 1_000
const OPERATOR: TokenClaims = { sub: 'olga', scope: 'fraud:ops' }

/** A row of the audit table, as ClickHouse returns it. */
type AuditRow = readonly [string, string, string, number, number | null, string | null, string | null, number]

/** The thresholds of version 2 of the models. */
export const ALONE_OF_NEXT = { medium: 0.3, high: 0.5, critical: 0.9 }

/** Returns the shipped models and, if `withNext`, a version 2 of each with different thresholds. */
async function modelFolders(withNext: boolean): Promise<ModelFolders> {
  const { available, broken } = await readModelFolders(undefined)
  if (!withNext) return { available, broken }
  const next = available.map((model) => ({
    ...model,
    isShipped: false,
    manifest: { ...model.manifest, version: '2', alone: ALONE_OF_NEXT },
  }))
  return { available: [...available, ...next], broken: [] }
}

/**
 * Opens the settings routes with fake servers. The real topology decides the commands, and its records feed an
 * in-memory table.
 */
export async function settingsApi() {
  const clock = { now: START }
  const now = () => clock.now
  const world = decidedWorld({
    topology: fraudSettingsTopology,
    commands: [fraudSettingsFlow.commands],
    views: [[fraudSettingsFlow.decisions, decisionView(fraudRuleSetsView, now)]],
    startAt: START,
  })
  const { facts, bindings, channel, redis, driver } = world
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const settings = await openSettingsInForce({ smallTables: tablesOfDriver(driver), log })
  onTestFinished(() => settings.close() as Promise<void>)
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS })
  const changeSettings = settingsCommands(commands, settings)
  const hashes = personalHashes('a key for tests, long enough')
  const audit: { rows: AuditRow[]; asked: unknown[] } = { rows: [], asked: [] }
  const tables: TableReader = {
    async query({ query_params }) {
      audit.asked.push(query_params)
      return { json: async () => audit.rows as never }
    },
  }
  /** Whether the folder of the operator contains version 2 of the models. */
  const operator = { hasModels: true }
  /** The models of the model process. */
  const modelProcess: { active: ActiveModels | undefined } = { active: undefined }
  const parts = [
    rulesPart({ settings, changeSettings, views: redis.reader, tables, now }),
    snoozesPart({ settings, changeSettings, hashes, now }),
    listsPart({ settings, changeSettings }),
    modelsPart({
      models: {
        get active() {
          return modelProcess.active
        },
        folders: () => modelFolders(operator.hasModels),
      },
      assignments: modelAssignments(changeSettings),
      settings,
      tables,
      now,
    }),
  ]
  const fields = { name: 'fraud', description: '', isUserId: () => true, probes: [] }
  const service: ServiceRoutes = { ...fields, routes: parts.flatMap(({ routes }) => routes), errors: Object.values(fraudErrors) }
  const api = await testApp({ services: [service] })

  interface SendOptions {
    readonly body?: unknown
    readonly as?: TokenClaims | null
    readonly headers?: Record<string, string>
  }

  async function send(method: string, path: string, { body, as = OPERATOR, headers }: SendOptions = {}) {
    const response = await api.app.request(`/api/v1/${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...(as && (await api.bearer(as))), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** Advances the clock of the API and of the topology. The topology then ticks. */
  function advance(ms: number): void {
    clock.now += ms
    driver.advanceWallClock(ms)
    world.decide()
  }

  return {
    ...api,
    ...world,
    settings,
    changeSettings,
    hashes,
    clock,
    audit,
    operator,
    modelProcess,
    send,
    advance,
    models: modelAssignments(changeSettings),
    rulesLog: lines,
  }
}
