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
 * Returns true if the path responds with a 2xx status.
 * @param url may contain a user and a password. They are sent in a header, because `fetch` does not accept them in a
 * URL
 */
export async function answersOk(url: string, path: string): Promise<boolean> {
  const { href, username, password } = new URL(path, url)
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`
  const response = await fetch(href.replace(/\/\/[^/@]*@/, '//'), {
    headers: username === '' ? {} : { authorization },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  await response.arrayBuffer()
  return response.ok
}

/** @param urls one or several addresses, separated by commas. Clients use the first one that responds */
async function isRegistryHealthy(urls: string): Promise<boolean> {
  const answers = await Promise.all(urls.split(',').map((url) => answersOk(url.trim(), '/subjects').catch(() => false)))
  return answers.includes(true)
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
        return await isRegistryHealthy(address)
      case 'search':
        return await answersOk(address, '/')
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
