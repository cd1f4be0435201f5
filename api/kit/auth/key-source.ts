import { readFile } from 'node:fs/promises'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import type { Registry } from 'prom-client'
import type { Logger } from '../logging.ts'
import { counter, gauge } from '../metrics.ts'
import { developmentKeyPaths, ensureDevelopmentKey } from './development-key.ts'
import { type KeySet, type KeySetOptions, keySet } from './key-set.ts'
import type { AuthSettings } from './settings.ts'

/** Time limit of a request to the identity provider. A provider that hangs must not delay callers for longer. */
const FETCH_TIMEOUT_MS = 5_000

const MS_PER_SECOND = 1_000

/** The log and the registry for reports about failed loads and about the expiry of the loaded keys. */
export interface KeyReports {
  readonly log: Logger
  readonly registry: Registry
}

/**
 * Returns the configured key set. Creates the development key if the configuration uses it. If the key file cannot be
 * used, reports this at once, and not only when the first token arrives. In any case, the file is read again for the
 * first token.
 */
export async function keySetFor(auth: AuthSettings, now: () => number, reports?: KeyReports): Promise<KeySet> {
  const onFailure = reports && failureReporter(reports)
  const load = await keyLoader(auth)
  if (auth.keys.kind === 'file')
    await load()
      .then(createLocalJWKSet)
      .catch((error: Error) => onFailure?.(error, undefined))
  const keys = keySet({ load, now, onFailure })
  if (reports !== undefined) expiryGauge(keys, reports.registry)
  return keys
}

function failureReporter({ log, registry }: KeyReports): KeySetOptions['onFailure'] {
  const failures = counter(registry, 'auth_keys_load_failures_total', 'Failed attempts to load the keys that verify tokens')
  return function reportFailure(error, ageMs) {
    failures.inc()
    log.warn({ reason: error.message, age_seconds: ageMs && Math.round(ageMs / MS_PER_SECOND) }, 'auth_keys_not_loaded')
  }
}

function expiryGauge(keys: KeySet, registry: Registry): void {
  const help = 'When the loaded keys expire; each successful load extends this time; 0 before the first load'
  gauge(registry, 'auth_keys_expire_timestamp_seconds', help, () => Math.max(0, keys.expiresAt / MS_PER_SECOND))
}

async function keyLoader(auth: AuthSettings): Promise<() => Promise<JSONWebKeySet>> {
  switch (auth.keys.kind) {
    case 'url':
      return jwksFromUrl(auth.keys.url)
    case 'file':
      return jwksFromFile(auth.keys.path)
    case 'development': {
      await ensureDevelopmentKey(auth.keys.home)
      return jwksFromFile(developmentKeyPaths(auth.keys.home).jwks)
    }
  }
}

/** Reads a JWKS from the identity provider. Redirects are refused, because they may lead to a URL without TLS. */
function jwksFromUrl(url: string): () => Promise<JSONWebKeySet> {
  return async function fetchJwks() {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
      headers: { Accept: 'application/json' },
      redirect: 'manual',
    })
    if (isRedirect(response.status))
      throw new Error('the JWKS address answered with a redirect: set AUTH_JWKS_URL to the target of the redirect')
    if (!response.ok) throw new Error(`the JWKS address answered ${response.status}`)
    return (await response.json()) as JSONWebKeySet
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

/** Reads a JWKS from a file: the development key, or keys mounted into a container. */
function jwksFromFile(path: string): () => Promise<JSONWebKeySet> {
  return async function readJwks() {
    return JSON.parse(await readFile(path, 'utf8')) as JSONWebKeySet
  }
}
