import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createCommands } from '../../../api/kit/commands/commands.ts'
import type { RequestLimits } from '../../../api/kit/rate-limits.ts'
import { patchOf } from '../../../api/snippets/diff/patch.ts'
import { snippetsHandlers } from '../../../api/snippets/handlers.ts'
import type { Highlighter } from '../../../api/snippets/page/highlighter.ts'
import { type ContentStreams, contentStreams } from '../../../api/snippets/streams.ts'
import { snippets } from '../../../pipelines/snippets/topology.ts'
import { snippetFlow } from '../../../schemas/snippets/flow.ts'
import { snippetTexts } from '../../../schemas/snippets/topics.ts'
import { blobStore } from '../../../state/blobs/blob-store.ts'
import { draftFolderOf, folderShelf } from '../../../state/blobs/folder.ts'
import type { BlobShelf } from '../../../state/blobs/shelf.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { decisionView } from '../../../state/views/results.ts'
import { snippetsView } from '../../../state/views/snippets/snippets.ts'
import { decidedWorld } from '../kit/commands/decided-world.ts'
import { START, type TokenClaims, testApp } from '../kit/harness.ts'

/** The command timeout. It is much longer than a decision in memory takes. */
const TIMEOUT_MS = 100
const REPEATABLE_MS = 3_300_000

/**
 * Opens the snippets API with fake servers. The real topology decides its commands, and a temporary folder stores
 * contents.
 */
export async function snippetsApi(
  options: { highlighter?: Highlighter; limits?: RequestLimits; shelf?: Partial<BlobShelf>; streams?: ContentStreams } = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'millrace-snippets-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const clock = { now: START }
  const world = decidedWorld({
    topology: snippets,
    commands: [snippetFlow.commands],
    views: [[snippetFlow.decisions, decisionView(snippetsView(REPEATABLE_MS), () => clock.now)]],
    startAt: START,
  })
  const { facts, bindings, channel, redis } = world
  const now = () => clock.now
  const counted: string[] = []
  /**
   * State of the fake ClickHouse: the rows that it returns, the words that were searched for, and the number of
   * partitions with which the table has caught up.
   */
  const found = { rows: [] as [string, number][], words: [] as string[], caughtUp: snippetTexts.partitions }
  const tables: TableReader = {
    async query({ query_params }) {
      if ('tables' in query_params)
        return { json: async <Row>() => (query_params.tables as string[]).map((name) => [name, found.caughtUp]) as Row[] }
      const patterns = Object.entries(query_params).filter(([name]) => name.startsWith('word'))
      found.words = patterns.map(([, pattern]) => (pattern as string).slice(1, -1))
      return { json: async <Row>() => found.rows as Row[] }
    },
  }
  const shelf = folderShelf(root)
  const blobs = blobStore({ shelf: { ...shelf, ...options.shelf }, draftFolder: draftFolderOf(root) })
  const service = snippetsHandlers({
    views: redis.reader,
    tables,
    facts,
    commands: createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS }),
    blobs,
    streams: options.streams ?? contentStreams(),
    counted: { offer: (id) => counted.push(id) > 0 },
    highlighter: options.highlighter ?? { highlight: async () => undefined, close: async () => undefined },
    comparer: { ask: async (request) => patchOf(request), close: async () => undefined },
    publicUrl: 'http://localhost:8080/',
    now,
  })
  const api = await testApp({ services: [service], probes: [...service.probes], limits: options.limits })

  async function send(method: string, path: string, options: { body?: BodyInit; as?: TokenClaims; headers?: Record<string, string> } = {}) {
    const headers = { ...(options.as && (await api.bearer(options.as))), ...options.headers }
    const response = await api.app.request(path, { method, headers, body: options.body, duplex: 'half' } as RequestInit)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return { status: response.status, headers: response.headers, text, body: isJson && text !== '' ? JSON.parse(text) : undefined }
  }

  const create = (fields: object, as?: TokenClaims, path = '/api/v1/pastes') =>
    send('POST', path, { body: JSON.stringify(fields), as, headers: { 'content-type': 'application/json' } })

  /** Advances the clock of the API and of the topology. The topology then ticks. */
  function advance(ms: number): void {
    clock.now += ms
    api.clock.now += ms
    world.driver.advanceWallClock(ms)
    world.decide()
  }

  return { ...api, ...world, service, clock, counted, found, send, create, advance, blobs, draftFolder: draftFolderOf(root) }
}
