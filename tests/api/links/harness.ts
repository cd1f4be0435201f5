import { createCommands } from '../../../api/kit/commands/commands.ts'
import { shortDomains } from '../../../api/links/domains.ts'
import { linksHandlers } from '../../../api/links/handlers.ts'
import { links } from '../../../pipelines/links/topology.ts'
import { linkFlow } from '../../../schemas/links/flow.ts'
import { userLinks } from '../../../schemas/links/topics.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { linksView } from '../../../state/views/links/links.ts'
import { userLinksView } from '../../../state/views/links/user-links.ts'
import { decisionView } from '../../../state/views/results.ts'
import { decidedWorld } from '../kit/commands/decided-world.ts'
import { START, type TokenClaims, testApp } from '../kit/harness.ts'

/** The command timeout. It is much longer than a decision in memory takes. */
const TIMEOUT_MS = 100

/** A ClickHouse without rows. Other tests cover reading clicks. */
const NO_TABLES: TableReader = { query: async () => ({ json: async () => [] }) }

/** Opens the links API with fake servers. The real topology decides its commands. */
export async function linksApi() {
  const clock = { now: START }
  const world = decidedWorld({
    topology: links,
    commands: [linkFlow.commands],
    views: [
      [linkFlow.decisions, decisionView(linksView, () => clock.now)],
      [userLinks, userLinksView],
    ],
    startAt: START,
  })
  const { facts, bindings, channel, redis } = world
  const now = () => clock.now
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS })
  const domains = shortDomains(['http://sho.rt', 'https://go.example'])
  const service = linksHandlers({ views: redis.reader, tables: NO_TABLES, facts, commands, domains, secret: 'the secret of the test', now })
  const api = await testApp({ services: [service], probes: [...service.probes] })

  async function send(method: string, path: string, options: { body?: unknown; as?: TokenClaims; headers?: Record<string, string> } = {}) {
    const { body, as, headers } = options
    const response = await api.app.request(path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...(as && (await api.bearer(as))), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      body: isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined,
    }
  }

  /** Advances the clock of the API and of the topology. The topology then ticks. */
  function advance(ms: number): void {
    clock.now += ms
    api.clock.now += ms
    world.driver.advanceWallClock(ms)
    world.decide()
  }

  const create = (body: object, options: { as?: TokenClaims; headers?: Record<string, string> } = {}) =>
    send('POST', '/api/v1/urls', { body, ...options })

  return { ...api, ...world, service, domains, clock, send, create, advance }
}
