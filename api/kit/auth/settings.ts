import { z } from 'zod'
import { settingsFragment } from '../../../settings/fragment.ts'
import { documented } from '../../../settings/variables.ts'
import { isLoopbackHost } from '../client-address.ts'

/** Determines whose tokens the API accepts. */
export interface AuthSettings {
  readonly issuer: string
  readonly audience: string
  /** The source of the identity provider's keys. `development` means a key that is created at the first start. */
  readonly keys:
    | { readonly kind: 'url'; readonly url: string }
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'development'; readonly home: string }
}

/**
 * Returns whether the URL uses TLS or a loopback host. With any other URL, an attacker could replace the keys in
 * transit, and then sign tokens. Returns true for text that is not a URL, because another check reports it.
 */
function isProtected(url: string): boolean {
  if (!URL.canParse(url)) return true
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))
}

const DEVELOPMENT_ISSUER = 'millrace'

export const authSettings = settingsFragment({
  variables: {
    AUTH_JWKS_URL: documented(
      z.url('is not a URL').refine(isProtected, 'must begin with https://; http:// is accepted for this machine only').optional(),
      "URL of the identity provider's keys (JWKS); production requires it or `AUTH_JWKS_FILE`",
      'generated at the first start',
    ),
    AUTH_JWKS_FILE: documented(z.string().optional(), "file with the identity provider's keys (JWKS), instead of `AUTH_JWKS_URL`"),
    AUTH_ISSUER: documented(z.string().optional(), 'required issuer of tokens; must be set together with the keys', DEVELOPMENT_ISSUER),
    AUTH_AUDIENCE: documented(z.string().optional(), 'required audience of tokens; must be set together with the keys', DEVELOPMENT_ISSUER),
  },
  rules(env, report, { isProduction }) {
    const hasKeys = env.AUTH_JWKS_URL !== undefined || env.AUTH_JWKS_FILE !== undefined
    if (env.AUTH_JWKS_URL !== undefined && env.AUTH_JWKS_FILE !== undefined) {
      report('AUTH_JWKS_FILE', 'is set in addition to AUTH_JWKS_URL; set only one of them')
    }
    if (isProduction && !hasKeys) {
      report('AUTH_JWKS_URL', 'is missing, and NODE_ENV=production has no development key; set it or AUTH_JWKS_FILE')
    }
    for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
      if (hasKeys && env[name] === undefined) {
        report(name, 'is missing; with configured keys, set the issuer and the audience of their tokens')
      }
    }
  },
  value({ AUTH_ISSUER, AUTH_AUDIENCE, AUTH_JWKS_URL, AUTH_JWKS_FILE }, { home }): AuthSettings {
    const common = { issuer: AUTH_ISSUER ?? DEVELOPMENT_ISSUER, audience: AUTH_AUDIENCE ?? DEVELOPMENT_ISSUER }
    if (AUTH_JWKS_URL !== undefined) return { ...common, keys: { kind: 'url', url: AUTH_JWKS_URL } }
    if (AUTH_JWKS_FILE !== undefined) return { ...common, keys: { kind: 'file', path: AUTH_JWKS_FILE } }
    return { ...common, keys: { kind: 'development', home } }
  },
})
