import { createHash, timingSafeEqual } from 'node:crypto'
import type { Runner } from '../worker/runner.ts'
import type { Answer as StateAnswer, StateQueries, StateView } from './queries.ts'
import { QueryError } from './query-error.ts'
import type { StatePage } from './state-range.ts'
import { cursorText, type KeyRequest, type RangeRequest, stateRequest } from './state-request.ts'

/** A response from the health port. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Determines who may query state: every client that can reach the port (allowed only on a loopback address), only
 * clients with the token, or no client.
 */
export type QueryAccess = 'open' | 'off' | { readonly token: string }

/**
 * Seconds in the Retry-After header of a 503. The usual cause of a 503 is that the partition is being moved, which
 * takes a second or two.
 */
const RETRY_AFTER_S = 1
const PATH = '/state'

const problem = (status: number, error: string, message: string, headers?: Record<string, string>): Answer =>
  jsonAnswer(status, { error, message }, headers)

export function jsonAnswer(status: number, body: object, headers?: Readonly<Record<string, string>>): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body, asJson, 2)}\n`, headers }
}

/** Converts values for JSON: 64-bit integers become text, bytes become base64, and maps become objects. */
function asJson(this: Record<string, unknown>, name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  const given = this[name]
  if (given instanceof Uint8Array) return Buffer.from(given).toString('base64')
  return given instanceof Map ? Object.fromEntries(given) : value
}

/**
 * Answers requests for state. `/state` lists the stores; `/state/<topology>/<store>?key=<text>` (or `key_hex=`) looks
 * up a key in committed state, and without a key, the path lists entries in pages. Optional parameters: `partition`,
 * and `standby=1` to let a possibly outdated copy answer. Pages also accept `from`, `to`, `prefix`, `limit`,
 * `reverse=1` and `cursor`. If another worker owns the partition, the response is a redirect (307) to that worker.
 * @returns undefined for any other path
 */
export async function stateAnswer(
  url: URL,
  authorization: string | undefined,
  runners: readonly Runner[],
  access: QueryAccess,
): Promise<Answer | undefined> {
  const [, root, topology, store, ...rest] = url.pathname.split('/')
  if (`/${root}` !== PATH || rest.length > 0) return undefined
  if (access === 'off') return problem(403, 'queries_off', 'set QUERY_TOKEN, or HEALTH_HOST to a loopback address, to allow queries')
  if (access !== 'open' && !isToken(authorization, access.token))
    return problem(401, 'unauthorized', 'send Authorization: Bearer <QUERY_TOKEN>', { 'www-authenticate': 'Bearer' })
  if (topology === undefined || topology === '') return jsonAnswer(200, listing(runners))
  const runner = runners.find(({ kind, name }) => kind === 'topology' && name === decoded(topology))
  if (runner === undefined)
    return problem(404, 'unknown_topology', 'the process does not run this topology; /state lists the topologies that it runs')
  if (runner.queries === undefined) return notReady('the topology is starting or stopping')
  try {
    return await lookUp(url, runner.name, decoded(store ?? ''), runner.queries)
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    return problem(error.code === 'unknown_store' ? 404 : 400, error.code, error.message)
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

function isToken(authorization: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))
}

function listing(runners: readonly Runner[]): object {
  return Object.fromEntries(runners.flatMap(({ name, queries }) => (queries === undefined ? [] : [[name, { stores: queries.stores }]])))
}

async function lookUp(url: URL, topology: string, store: string, queries: StateQueries): Promise<Answer> {
  const request = stateRequest(url.searchParams)
  return 'key' in request ? keyAnswer(url, { topology, store }, request, queries) : pageAnswer(url, { topology, store }, request, queries)
}

interface Asked {
  readonly topology: string
  readonly store: string
}

async function keyAnswer(url: URL, where: Asked, { key, options }: KeyRequest, queries: StateQueries): Promise<Answer> {
  const answer = await queries.getBytes(where.store, key, options)
  const text = url.searchParams.get('key')
  const asked = { ...where, ...(text === null ? { key_hex: key.toString('hex') } : { key: text }) }
  if (answer.outcome !== 'answered') return notHere(url, asked, answer)
  const { value, state } = answer
  if (value === undefined)
    return jsonAnswer(404, { error: 'key_not_found', message: 'the state has no such key', ...asked, ...described(state) })
  return jsonAnswer(200, { ...asked, value, ...described(state) })
}

async function pageAnswer(url: URL, asked: Asked, request: RangeRequest, queries: StateQueries): Promise<Answer> {
  const answer = await queries.scanBytes(asked.store, request.range, request.options)
  if (answer.outcome !== 'answered') return notHere(url, asked, answer)
  const { value: page, state } = answer
  const entries = page.entries.map(({ key, keyBytes, value }) => ({ key, key_hex: keyBytes.toString('hex'), value }))
  const partitions = queries.stores.find(({ name }) => name === asked.store)?.partitions ?? 0
  return jsonAnswer(200, { ...asked, entries, next: nextPage(url, request, page, partitions), ...described(state) })
}

/** Returns the path of the next page; null after the last page. */
function nextPage(url: URL, request: RangeRequest, page: StatePage<unknown, unknown>, partitions: number): string | null {
  const { partition } = request.range
  const isLast = page.next === undefined && (request.inOnePartition || partition + 1 >= partitions)
  if (isLast) return null
  const parameters = new URLSearchParams(url.searchParams)
  parameters.set('cursor', page.next === undefined ? cursorText(partition + 1, undefined) : cursorText(partition, page.next))
  return `${url.pathname}?${parameters}`
}

function notHere(url: URL, asked: object, answer: Exclude<StateAnswer<unknown>, { outcome: 'answered' }>): Answer {
  const { partition } = answer
  if (answer.outcome === 'not-ready') return notReady(`partition ${partition}: ${answer.reason}`)
  const { memberId, address, standbys } = answer
  // A client that may join the group can publish any text as its address, and Node throws if a header contains anything
  // but ASCII. The location is therefore parsed as a URL first.
  const location = `${address}${url.pathname}${url.search}`
  if (address === undefined || !URL.canParse(location))
    return notReady(`partition ${partition} belongs to worker ${memberId}, which has published no usable address (HEALTH_ADDRESS)`)
  const where = {
    error: 'elsewhere',
    message: 'another worker owns the partition or has a copy of it',
    ...asked,
    partition,
    member_id: memberId,
    worker: address,
    standbys,
  }
  return jsonAnswer(307, where, { location: new URL(location).href })
}

function described({ partition, role, position, behind, asOf }: StateView): object {
  return {
    partition,
    role,
    position: { sources: position.sources.map(({ topic, offset }) => ({ topic, offset })), changelog: position.changelog ?? null },
    records_behind: behind,
    as_of: new Date(asOf).toISOString(),
  }
}

function notReady(message: string): Answer {
  return problem(503, 'not_ready', message, { 'retry-after': String(RETRY_AFTER_S) })
}
