import { openBlocklist } from '../../../../api/fraud/blocklist/in-force.ts'
import { blocklistPart } from '../../../../api/fraud/blocklist/part.ts'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { createCommands } from '../../../../api/kit/commands/commands.ts'
import type { OpenPackedTable } from '../../../../api/kit/packed/open.ts'
import type { Packing } from '../../../../api/kit/packed/packed-table.ts'
import type { ServiceRoutes } from '../../../../api/kit/service-routes.ts'
import { fraudBlocklistTopology } from '../../../../pipelines/fraud/blocklist/topology.ts'
import { blocklistFlow } from '../../../../schemas/fraud/blocklist/flow.ts'
import { fraudBlocklist } from '../../../../schemas/fraud/blocklist/topics.ts'
import { personalHashes } from '../../../../schemas/fraud/personal-hash.ts'
import type { FraudBlocklistEntry } from '../../../../schemas/fraud/types.ts'
import { fraudBlocklistView } from '../../../../state/views/fraud/blocklist.ts'
import { decisionView } from '../../../../state/views/results.ts'
import { decidedWorld } from '../../kit/commands/decided-world.ts'
import { START, type TokenClaims, testApp } from '../../kit/harness.ts'

/** The command timeout. It is much longer than a decision in memory takes. */
const TIMEOUT_MS = 100
const ANALYST: TokenClaims = { sub: 'ann', scope: 'fraud:analyst' }

/**
 * Opens the blocklist routes with fake servers. The real topology decides the commands, and its records feed an
 * in-memory table.
 */
export async function blocklistApi() {
  const clock = { now: START }
  const now = () => clock.now
  const world = decidedWorld({
    topology: fraudBlocklistTopology,
    commands: [blocklistFlow.commands],
    views: [[blocklistFlow.decisions, decisionView(fraudBlocklistView, now)]],
    startAt: START,
  })
  const { facts, bindings, channel, redis, driver } = world
  const ends = new Map<unknown, number>()

  const packedTables = (async (_topic: unknown, packing: Packing<FraudBlocklistEntry, unknown>) => ({
    get(key: unknown) {
      for (const record of driver.read(fraudBlocklist)) {
        if (record.value === null) ends.delete(record.key)
        else ends.set(record.key, packing.expiresAt?.(record.value) ?? Number.POSITIVE_INFINITY)
      }
      return (ends.get(key) ?? 0) > clock.now ? packing.unpack(new DataView(new ArrayBuffer(0)), 0) : undefined
    },
    isStale: false,
    probes: [],
    close: async () => undefined,
  })) as unknown as OpenPackedTable

  const blocklist = await openBlocklist({ packedTables })
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS })
  const hashes = personalHashes('a key for tests, long enough')
  const part = blocklistPart({ blocklist, hashes, views: redis.reader, facts, commands, now, monotonic: () => performance.now() })
  const fields = { name: 'fraud', description: '', isUserId: () => true, probes: [] }
  const service: ServiceRoutes = { ...fields, routes: part.routes, errors: Object.values(fraudErrors) }
  const api = await testApp({ services: [service], probes: [...(part.probes ?? [])] })

  interface SendOptions {
    readonly body?: unknown
    readonly as?: TokenClaims | null
    readonly headers?: Record<string, string>
  }

  async function send(method: string, path: string, { body, as = ANALYST, headers }: SendOptions = {}) {
    const response = await api.app.request(`/api/v1/blocklist${path}`, {
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
    api.clock.now += ms
    driver.advanceWallClock(ms)
    world.decide()
  }

  return { ...api, ...world, blocklist, hashes, clock, send, advance }
}
