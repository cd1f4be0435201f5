import type { CasesDeps } from '../../../../api/fraud/cases/deps.ts'
import { casesPart } from '../../../../api/fraud/cases/part.ts'
import { fraudErrors } from '../../../../api/fraud/errors.ts'
import { createCommands } from '../../../../api/kit/commands/commands.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import { fraudCasesTopology } from '../../../../pipelines/fraud/cases/topology.ts'
import { caseFlow } from '../../../../schemas/fraud/cases/flow.ts'
import { fraudReviews } from '../../../../schemas/fraud/cases/topics.ts'
import type { FraudCase, TxnScored } from '../../../../schemas/fraud/types.ts'
import type { TableReader } from '../../../../state/tables/reader.ts'
import { fraudCasesView } from '../../../../state/views/fraud/cases.ts'
import { decisionView } from '../../../../state/views/results.ts'
import { review } from '../../../pipelines/fraud/case-commands.ts'
import { scored } from '../../../pipelines/fraud/scored.ts'
import { pay } from '../../../schemas/fraud/payments.ts'
import { type DecidedWorld, decidedWorld } from '../../kit/commands/decided-world.ts'
import { START, type TokenClaims, testApp } from '../../kit/harness.ts'

const TIMEOUT_MS = 100
const DAY_MS = 24 * 3_600_000

export interface Reply {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of bodies
  readonly body: any
}

export interface AskedCase {
  readonly body?: unknown
  readonly claims?: TokenClaims | null
  readonly key?: string
}

/** The rows of a fake ClickHouse. The fake recognises the queries that the routes send. */
export interface FakeTables {
  down: boolean
  /** True if only the queries for the rows of given cases fail. */
  rowsDown: boolean
  /** Cases that are no longer in the topology's state, newest first. */
  readonly archived: FraudCase[]
}

function fakeTables(tables: FakeTables): TableReader {
  return {
    async query({ query, query_params }) {
      if (tables.down || (tables.rowsDown && 'ids' in (query_params ?? {}))) throw new ApiError(errors.unavailable)
      const { id, ids, statuses } = query_params as { id?: string; ids?: bigint[]; statuses?: string[] }
      const found = tables.archived.filter(
        ({ case_id, status, transaction: { transaction_id } }) =>
          statuses?.includes(status) ?? ids?.includes(BigInt(case_id)) ?? (case_id === id || transaction_id === id),
      )
      const rows = query.includes('count()')
        ? [[found.length]]
        : found.map((one) => [...(id === undefined ? [one.case_id] : []), ...(statuses === undefined ? [JSON.stringify(one)] : [])])
      return { json: async <Row>() => rows as Row[] }
    },
  }
}

/** Opens the case routes with fake servers. The real topology decides the commands. */
export async function casesApi({ answersKeptMs = DAY_MS } = {}) {
  const now = () => world.driver.now
  const world: DecidedWorld = decidedWorld({
    topology: fraudCasesTopology,
    commands: [caseFlow.commands],
    views: [[caseFlow.decisions, decisionView(fraudCasesView, now)]],
    startAt: START,
  })
  const { facts, bindings, channel, redis, driver } = world
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS })
  const tables: FakeTables = { down: false, rowsDown: false, archived: [] }
  const reader = fakeTables(tables)
  /** Transactions that can be looked up. */
  const transactions = new Map<string, TxnScored>()
  const clock = { waited: 0, onPause: () => {} }
  const deps: CasesDeps = {
    views: redis.reader as unknown as CasesDeps['views'],
    tables: reader,
    commands,
    facts,
    log: createLogger('silent'),
    now,
    answersKeptMs,
    monotonic: () => clock.waited,
    async pause(ms) {
      clock.waited += ms
      clock.onPause()
    },
    transactions: {
      async reviewed(id: string) {
        if (tables.down) throw new ApiError(errors.unavailable)
        return transactions.get(id)
      },
    },
  }
  const part = casesPart(deps)
  const service = {
    name: 'fraud',
    description: '',
    isUserId: () => true,
    errors: Object.values(fraudErrors),
    probes: [],
    routes: part.routes,
  }
  const api = await testApp({ services: [service] })

  async function send(
    method: string,
    path: string,
    { body, claims = { sub: 'ann', scope: 'fraud:analyst' }, key }: AskedCase = {},
  ): Promise<Reply> {
    const headers = {
      ...(claims === null ? {} : await api.bearer(claims)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    }
    const response = await api.app.request(`/api/v1/${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** Simulates a transaction with the decision REVIEW. */
  function reviewed(id: string): void {
    driver.pipe(fraudReviews, id, review({ id }))
    world.decide()
  }

  /** Stores a scored transaction, so that the API can find it by its id. */
  function transaction(id: string, scoredAt: number = START): void {
    transactions.set(id, { ...scored(pay({ id, user: 'u1', device: 'd1', at: scoredAt })), risk_score: 12 })
  }

  function daysPass(days: number): void {
    driver.restart({ downMs: days * DAY_MS })
    driver.advanceWallClock(2_000)
    world.decide()
  }

  return { ...world, send, reviewed, transaction, daysPass, tables, clock, driver }
}
