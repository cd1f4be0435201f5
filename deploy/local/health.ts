import { Admin } from '@platformatic/kafka'
import { Redis } from 'ioredis'
import { readKafkaSecurity } from '../../kafka/config.ts'
import { basicAuthorization } from '../../runtime/basic-authorization.ts'
import type { PartKind } from './run-file.ts'

/**
 * Time limit of a health check. A healthy local server responds within milliseconds, but a loaded machine may take
 * longer.
 */
const TIMEOUT_MS = 2_000
const ANSWERS_WITH_ERROR = 'it answers the health check with an error'

/** Returns true if a broker responds with metadata that lists at least one broker. Throws if no broker responds. */
export async function isKafkaHealthy(brokers: string): Promise<boolean> {
  const admin = new Admin({
    clientId: 'health',
    bootstrapBrokers: brokers.split(','),
    ...readKafkaSecurity(),
    connectTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    retries: 0,
  })
  try {
    return (await admin.metadata({ topics: [] })).brokers.size > 0
  } finally {
    await admin.close()
  }
}

export async function isRedisHealthy(url: string): Promise<boolean> {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: TIMEOUT_MS, commandTimeout: TIMEOUT_MS, retryStrategy: () => null })
  // `connect` reports only that the connection was closed. The reason is in this event.
  let reason: Error | undefined
  redis.on('error', (error) => {
    reason = error
  })
  try {
    await redis.connect()
    return (await redis.ping()) === 'PONG'
  } catch (error) {
    throw reason ?? error
  } finally {
    redis.disconnect()
  }
}

/**
 * Returns true if the server answers a GET request for the path with a 2xx status. Throws if the server does not
 * answer.
 * @param url may contain a user and a password. They are sent in a header, because `fetch` does not accept them in a
 * URL
 */
export async function answersOk(url: string, path: string): Promise<boolean> {
  const target = new URL(path, url)
  const authorization = basicAuthorization(target)
  target.username = ''
  target.password = ''
  const headers = authorization === undefined ? undefined : { authorization }
  const response = await fetch(target, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.arrayBuffer()
  return response.ok
}

/**
 * @param urls one or several addresses, separated by commas. Clients use the first one that gives a usable answer
 * @throws AggregateError if no address gives a usable answer
 */
async function isRegistryHealthy(urls: string): Promise<boolean> {
  async function check(url: string): Promise<true> {
    if (await answersOk(url.trim(), '/subjects')) return true
    throw new Error(ANSWERS_WITH_ERROR)
  }
  return Promise.any(urls.split(',').map(check))
}

/**
 * Returns the parts that a worker or an API reports as missing or degraded, each on a separate line with its reason;
 * empty if it reports none or does not respond.
 */
export async function reportedParts(url: string, list: 'missing' | 'degraded'): Promise<string> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const report = (await response.json()) as { [list in 'missing' | 'degraded']?: readonly { name: string; reason: string }[] }
    return (report[list] ?? []).map(({ name, reason }) => `\n${REASON_INDENT}${name}: ${reason}`).join('')
  } catch {
    return ''
  }
}

const REASON_INDENT = ' '.repeat(25)

/** Checks whether a part of the stack is healthy. Never throws. */
export async function isHealthy(kind: PartKind, address: string): Promise<boolean> {
  return (await healthFault(kind, address)) === undefined
}

/** Returns why a part of the stack is not healthy; undefined if it is healthy. Never throws. */
export async function healthFault(kind: PartKind, address: string): Promise<string | undefined> {
  try {
    return (await passesCheck(kind, address)) ? undefined : ANSWERS_WITH_ERROR
  } catch (error) {
    return causeOf(error as Error)
  }
}

/** Returns the message of the innermost error. The outer errors only say that an attempt has failed. */
function causeOf(error: Error): string {
  const inner = (error as { errors?: readonly Error[] }).errors?.[0] ?? error.cause
  return inner instanceof Error ? causeOf(inner) : error.message
}

async function passesCheck(kind: PartKind, address: string): Promise<boolean> {
  switch (kind) {
    case 'kafka':
      return isKafkaHealthy(address)
    case 'redis':
      return isRedisHealthy(address)
    case 'clickhouse':
      return answersOk(address, '/ping')
    case 'registry':
      return isRegistryHealthy(address)
    case 'search':
      return answersOk(address, '/')
    case 'worker':
    case 'api':
      return answersOk(address, '/readyz')
    case 'demo':
      return true
  }
}
