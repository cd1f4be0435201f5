import { readFile } from 'node:fs/promises'
import type { JSONWebKeySet } from 'jose'
import { developmentKeyPaths, ensureDevelopmentKey } from './development-key.ts'
import { type KeySet, keySet } from './key-set.ts'
import type { AuthSettings } from './settings.ts'

/** Limits how long a hanging identity provider delays callers. */
const FETCH_TIMEOUT_MS = 5_000

/** Returns the configured key set. Creates the development key if the configuration uses it. */
export async function keySetFor(auth: AuthSettings, now: () => number): Promise<KeySet> {
  switch (auth.keys.kind) {
    case 'url':
      return keySet({ load: jwksFromUrl(auth.keys.url), now })
    case 'file':
      return keySet({ load: jwksFromFile(auth.keys.path), now })
    case 'development': {
      await ensureDevelopmentKey(auth.keys.home)
      return keySet({ load: jwksFromFile(developmentKeyPaths(auth.keys.home).jwks), now })
    }
  }
}

/** Reads a JWKS from the identity provider. */
function jwksFromUrl(url: string): () => Promise<JSONWebKeySet> {
  return async function fetchJwks() {
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS), headers: { Accept: 'application/json' } })
    if (!response.ok) throw new Error(`the JWKS address answered ${response.status}`)
    return (await response.json()) as JSONWebKeySet
  }
}

/** Reads a JWKS from a file: the development key, or keys mounted into a container. */
function jwksFromFile(path: string): () => Promise<JSONWebKeySet> {
  return async function readJwks() {
    return JSON.parse(await readFile(path, 'utf8')) as JSONWebKeySet
  }
}
