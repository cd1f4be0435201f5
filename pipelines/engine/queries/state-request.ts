import type { QueryOptions, RangeOptions } from './queries.ts'
import { QueryError } from './query-error.ts'
import type { StateRange } from './state-range.ts'

/** Maximum size of a key. Keys are names and numbers, so a longer key is a mistake or an attack. */
const MAX_KEY_BYTES = 1_024
/**
 * Maximum size of the key in a cursor. The cursor contains the last key of a page, and processors may store longer keys
 * than clients may request. In hexadecimal digits, a key of this size still fits into the 16 KiB that Node accepts as
 * the head of a request.
 */
const MAX_CURSOR_KEY_BYTES = 6_144
/**
 * A partition, a dot and an encoded key in hexadecimal digits. The page begins after that key. Without a key, it begins
 * with the partition's first key in the range.
 */
const CURSOR = /^(\d{1,6})\.(([0-9a-f]{2})*)$/
const FOR_ONE_KEY = ['key', 'key_hex']
const FOR_RANGES = ['from', 'from_hex', 'to', 'to_hex', 'prefix', 'prefix_hex', 'limit', 'reverse', 'cursor']
const FOR_BOTH = ['partition', 'standby']

/** A request for the value of a key. */
export interface KeyRequest {
  readonly key: Buffer
  readonly options: QueryOptions
}

/** A request for a page of a range. */
export interface RangeRequest {
  readonly range: StateRange
  /** True if the range ends at the end of its partition; false if it continues in the next partition. */
  readonly inOnePartition: boolean
  readonly options: RangeOptions
}

/**
 * Parses the parameters of a request for state. A request without a key is a request for a range.
 * @throws QueryError if a parameter is unknown, invalid or not allowed with a key, or if parameters contradict each
 * other
 */
export function stateRequest(parameters: URLSearchParams): KeyRequest | RangeRequest {
  const names = new Set(parameters.keys())
  const isForKey = FOR_ONE_KEY.some((name) => names.has(name))
  const allowed = [...(isForKey ? FOR_ONE_KEY : [...FOR_ONE_KEY, ...FOR_RANGES]), ...FOR_BOTH]
  const other = [...names].find((name) => !allowed.includes(name))
  if (other !== undefined)
    throw new QueryError(
      'unknown_parameter',
      isForKey && FOR_RANGES.includes(other)
        ? `the parameter ${other} is not allowed with a key; with a key, the parameters are: ${allowed.join(', ')}`
        : `the parameter ${JSON.stringify(other)} is unknown; ${isForKey ? 'with a key, ' : ''}the parameters are: ${allowed.join(', ')}`,
    )
  const partition = partitionOf(parameters.get('partition'))
  const standby = isSet(parameters, 'standby')
  const key = bytesOf(parameters, 'key')
  if (key !== undefined) return { key, options: { partition, standby } }
  return { ...rangeOf(parameters, partition), options: { standby } }
}

function rangeOf(parameters: URLSearchParams, partition: number | undefined): Omit<RangeRequest, 'options'> {
  const cursor = cursorOf(parameters.get('cursor'))
  if (cursor !== undefined && partition !== undefined && cursor.partition !== partition)
    throw new QueryError('invalid_range', `the cursor belongs to partition ${cursor.partition}, not to the requested partition`)
  const limit = parameters.get('limit')
  if (limit !== null && !/^\d{1,6}$/.test(limit))
    throw new QueryError('invalid_range', 'the limit must be a whole number with at most 6 digits')
  const range: StateRange = {
    partition: cursor?.partition ?? partition ?? 0,
    gte: bytesOf(parameters, 'from'),
    lt: bytesOf(parameters, 'to'),
    prefix: bytesOf(parameters, 'prefix'),
    after: cursor?.after,
    limit: limit === null ? undefined : Number(limit),
    reverse: isSet(parameters, 'reverse'),
  }
  return { range, inOnePartition: partition !== undefined }
}

/** Returns the cursor of the next page, in the form that `stateRequest` parses. */
export function cursorText(partition: number, after: Buffer | undefined): string {
  return `${partition}.${after?.toString('hex') ?? ''}`
}

function cursorOf(text: string | null): { partition: number; after: Buffer | undefined } | undefined {
  if (text === null) return undefined
  const [, partition, hex] = CURSOR.exec(text) ?? []
  if (partition === undefined) throw new QueryError('invalid_range', 'the cursor must be taken from `next` of the previous page')
  return { partition: Number(partition), after: hex === '' ? undefined : limited('cursor', Buffer.from(hex, 'hex'), MAX_CURSOR_KEY_BYTES) }
}

/**
 * Returns the bytes that a parameter contains as text (`name`) or in hexadecimal digits (`name_hex`); undefined if
 * neither parameter is given.
 */
function bytesOf(parameters: URLSearchParams, name: string): Buffer | undefined {
  const [text, hex] = [parameters.get(name), parameters.get(`${name}_hex`)]
  if (text !== null && hex !== null) throw new QueryError('invalid_key', `give either ${name} or ${name}_hex, not both`)
  if (hex !== null && !/^([0-9a-f]{2})*$/i.test(hex))
    throw new QueryError('invalid_key', `${name}_hex must consist of pairs of hexadecimal digits`)
  if (hex !== null) return limited(name, Buffer.from(hex, 'hex'))
  return text === null ? undefined : limited(name, Buffer.from(text, 'utf8'))
}

function limited(name: string, key: Buffer, maxBytes = MAX_KEY_BYTES): Buffer {
  if (key.length > maxBytes) throw new QueryError('invalid_key', `${name} may have at most ${maxBytes} bytes`)
  return key
}

function partitionOf(text: string | null): number | undefined {
  if (text === null) return undefined
  if (!/^\d{1,6}$/.test(text)) throw new QueryError('invalid_partition', 'the partition must be a whole number with at most 6 digits')
  return Number(text)
}

function isSet(parameters: URLSearchParams, name: string): boolean {
  return parameters.get(name) === '1'
}
