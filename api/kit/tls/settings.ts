import { z } from 'zod'
import { settingsFragment } from '../../../settings/fragment.ts'
import { documented, list, port } from '../../../settings/variables.ts'
import type { TlsFiles } from './material.ts'

/** Settings of the TLS port, which accepts client certificates. */
export interface TlsSettings {
  /** 0 chooses any free port. */
  readonly port: number
  readonly files: TlsFiles
  /**
   * A client certificate must have at least one of these names. If the list is empty, every certificate from the
   * authorities is accepted.
   */
  readonly clientNames: readonly string[]
}

/** Settings that must be set together. */
const TOGETHER = ['API_TLS_PORT', 'API_TLS_CERT', 'API_TLS_KEY', 'API_TLS_CLIENT_CA'] as const

export const tlsSettings = settingsFragment({
  variables: {
    API_TLS_PORT: documented(
      port().optional(),
      'additional port of all HTTP APIs, with TLS, on which callers may present client certificates; needs `API_TLS_CERT`, `API_TLS_KEY` and `API_TLS_CLIENT_CA`',
    ),
    API_TLS_CERT: documented(z.string().optional(), 'PEM file with the certificate of the API and its intermediate certificates'),
    API_TLS_KEY: documented(z.string().optional(), 'PEM file with the private key of the certificate in `API_TLS_CERT`'),
    API_TLS_CLIENT_CA: documented(z.string().optional(), 'PEM file with the authorities that sign client certificates'),
    API_TLS_CLIENT_NAMES: documented(
      list.optional(),
      'accepted names; a client certificate must have one of them, as its common name or an alternative name',
      'any name',
    ),
  },
  rules(env, report) {
    const isAny = [...TOGETHER, 'API_TLS_CLIENT_NAMES' as const].some((name) => env[name] !== undefined)
    if (!isAny) return
    for (const name of TOGETHER) {
      if (env[name] === undefined) report(name, `is missing: set all of ${TOGETHER.join(', ')}, or none of them`)
    }
  },
  value({ API_TLS_PORT, API_TLS_CERT, API_TLS_KEY, API_TLS_CLIENT_CA, API_TLS_CLIENT_NAMES }): TlsSettings | undefined {
    if (API_TLS_PORT === undefined) return undefined
    const files = { certificate: API_TLS_CERT!, key: API_TLS_KEY!, clientAuthorities: API_TLS_CLIENT_CA! }
    return { port: API_TLS_PORT, files, clientNames: API_TLS_CLIENT_NAMES ?? [] }
  },
})
