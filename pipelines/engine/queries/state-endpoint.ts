import { createHash, timingSafeEqual } from 'node:crypto'
import type { Runner } from '../worker/runner.ts'
import type { QueryAnswer, QueryOptions, StateQueries, StateView } from './queries.ts'
import { QueryError } from './queries.ts'

/** A response of the health port. */
export interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Determines who may query state: every client that can reach the port (allowed only on a loopback port), only clients
 * with the token, or no client.
 */
export type QueryAccess = 'open' | 'off' | { readonly token: string }

/** Maximum size of a key. Keys are names and numbers, so a longer key is a mistake or an attack. */
const MAX_KEY_BYTES = 1_024
/** Seconds in the Retry-After header for a partition that is being moved. Moves usually end within a second or two. */
const RETRY_AFTER_S = 1
const PATH = '/state'

const problem = (status: number, error: string, message: string, headers?: Record<string, string>): Answer =>
  jsonAnswer(status, { error, message }, headers)

export function jsonAnswer(status: number, body: object, headers?: Readonly<Record<string, string>>): Answer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body, asJson, 2)}\n`, headers }
}

/** Converts values for JSON: 64-bit integers become text, and bytes become base64. */
function asJson(this: Record<string, unknown>, name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  const given = this[name]
  if (given instanceof Uint8Array) return Buffer.from(given).toString('base64')
  return given instanceof Map ? Object.fromEntries(given) : value
}

/**
 * Answers requests for state. `/state` lists the stores; `/state/<topology>/<store>?key=<text>` (or `key_hex=`) looks
 * up a key in committed state. Optional parameters: `partition`, for stores that are not partitioned by their own key,
 * and `standby=1`, which lets a possibly outdated copy answer. If another worker owns the key, the answer is 307 with
 * its address.
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
  if (runner === undefined) return problem(404, 'unknown_topology', 'this process does not run it; /state lists what it runs')
  if (runner.queries === undefined) return notReady('the topology is starting')
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

function keyOf(parameters: URLSearchParams): Buffer {
  const [text, hex] = [parameters.get('key'), parameters.get('key_hex')]
  if ((text === null) === (hex === null)) throw new QueryError('invalid_key', 'name the key: key=<text> or key_hex=<hexadecimal bytes>')
  if (hex !== null && !/^([0-9a-f]{2})*$/i.test(hex)) throw new QueryError('invalid_key', 'key_hex must be pairs of hexadecimal digits')
  const key = hex === null ? Buffer.from(text ?? '', 'utf8') : Buffer.from(hex, 'hex')
  if (key.length > MAX_KEY_BYTES) throw new QueryError('invalid_key', `a key has at most ${MAX_KEY_BYTES} bytes`)
  return key
}

function optionsOf(parameters: URLSearchParams): QueryOptions {
  const partition = parameters.get('partition')
  if (partition !== null && !/^\d{1,6}$/.test(partition)) throw new QueryError('invalid_partition', 'a partition is a number')
  return { partition: partition === null ? undefined : Number(partition), standby: parameters.get('standby') === '1' }
}

async function lookUp(url: URL, topology: string, store: string, queries: StateQueries): Promise<Answer> {
  const key = keyOf(url.searchParams)
  const answer: QueryAnswer<unknown> = await queries.getBytes(store, key, optionsOf(url.searchParams))
  const asked = {
    topology,
    store,
    ...(url.searchParams.has('key') ? { key: url.searchParams.get('key') } : { key_hex: key.toString('hex') }),
  }
  switch (answer.outcome) {
    case 'answered': {
      const { value, state } = answer
      if (value === undefined)
        return jsonAnswer(404, { error: 'key_not_found', message: 'the state has no such key', ...asked, ...described(state) })
      return jsonAnswer(200, { ...asked, value, ...described(state) })
    }
    case 'other-worker': {
      const { memberId, address, partition, standbys } = answer
      if (address === undefined) return notReady(`partition ${partition} belongs to worker ${memberId}, which has no address`)
      const where = {
        error: 'elsewhere',
        message: 'another worker owns it',
        ...asked,
        partition,
        member_id: memberId,
        worker: address,
        standbys,
      }
      return jsonAnswer(307, where, { location: `${address}${url.pathname}${url.search}` })
    }
    case 'not-ready':
      return notReady(`partition ${answer.partition}: ${answer.reason}`)
  }
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
