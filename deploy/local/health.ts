import { Admin } from '@platformatic/kafka'
import { Redis } from 'ioredis'
import { readKafkaSecurity } from '../../kafka/config.ts'
import type { PartKind } from './run-file.ts'

/**
 * Time limit of a health check. A healthy local server responds within milliseconds, but a loaded machine may take
 * longer.
 */
const TIMEOUT_MS = 2_000

/** Returns true when a broker returns metadata. Otherwise, returns false or throws an error. */
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
  // `connect` reports the failure. Without this listener, the client would print the failure as well.
  redis.on('error', () => undefined)
  try {
    await redis.connect()
    return (await redis.ping()) === 'PONG'
  } finally {
    redis.disconnect()
  }
}

/**
 * @param url may contain a user and a password. They are sent in a header, because `fetch` does not accept them in a
 * URL
 */
async function isSearchHealthy(url: string): Promise<boolean> {
  const { origin, username, password } = new URL(url)
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`
  const response = await fetch(origin, { headers: username === '' ? {} : { authorization }, signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.arrayBuffer()
  return response.ok
}

/** Returns true if the path responds with a 2xx status. */
export async function answersOk(url: string, path: string): Promise<boolean> {
  const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(TIMEOUT_MS) })
  await response.arrayBuffer()
  return response.ok
}

/**
 * Returns the reasons that a worker or an API reports for not being ready, each on a separate line; empty when it
 * reports none or does not respond.
 */
export async function notReadyReason(url: string): Promise<string> {
  try {
    const response = await fetch(new URL('/readyz', url), { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const text = await response.text()
    const { missing } = JSON.parse(text) as { missing?: readonly { name: string; reason: string }[] }
    return (missing ?? []).map(({ name, reason }) => `\n${REASON_INDENT}${name}: ${reason}`).join('')
  } catch {
    return ''
  }
}

const REASON_INDENT = ' '.repeat(25)

/** Checks whether a part of the stack is healthy. Never throws. */
export async function isHealthy(kind: PartKind, address: string): Promise<boolean> {
  try {
    switch (kind) {
      case 'kafka':
        return await isKafkaHealthy(address)
      case 'redis':
        return await isRedisHealthy(address)
      case 'clickhouse':
        return await answersOk(address, '/ping')
      case 'registry':
        return await answersOk(address, '/subjects')
      case 'search':
        return await isSearchHealthy(address)
      case 'worker':
      case 'api':
        return await answersOk(address, '/readyz')
      case 'demo':
        return true
    }
  } catch {
    return false
  }
}
