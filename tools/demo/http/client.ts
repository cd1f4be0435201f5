import { ensureDevelopmentKey, mintToken } from '../../../api/kit/auth/development-key.ts'
import type { DevelopmentAuth } from '../../token/config.ts'

const TIMEOUT_MS = 10_000
const TOKEN_SECONDS = 3_600
const MS_PER_SECOND = 1_000

export interface Reply {
  /** The HTTP status; 0 if the API did not respond or its response is not JSON. */
  readonly status: number
  /** The error code of a request that failed; empty if the request succeeded. */
  readonly code: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several operations
  readonly body: any
}

/** The user whose token a request carries. */
export interface DemoCaller {
  readonly subject: string
  readonly scope?: string
}

/** Calls the API as any user. Tokens are signed with the development key. */
export interface DemoClient {
  /**
   * Sends a request.
   * @param path absolute path, with the query if there is one
   */
  ask(caller: DemoCaller, method: string, path: string, body?: object): Promise<Reply>
}

export async function demoClient(url: string, { home, issuer, audience }: DevelopmentAuth): Promise<DemoClient> {
  const key = await ensureDevelopmentKey(home)
  const tokens = new Map<string, { readonly text: string; readonly until: number }>()

  async function tokenOf({ subject, scope }: DemoCaller): Promise<string> {
    const name = `${subject} ${scope ?? ''}`
    const known = tokens.get(name)
    const now = Date.now()
    if (known !== undefined && known.until > now) return known.text
    const text = await mintToken(key, { subject, scope, issuer, audience, lifetimeSeconds: TOKEN_SECONDS, now })
    // The token is renewed after half of its lifetime, because the clock of the API may differ.
    tokens.set(name, { text, until: now + (TOKEN_SECONDS * MS_PER_SECOND) / 2 })
    return text
  }

  return {
    async ask(caller, method, path, body) {
      const headers = {
        authorization: `Bearer ${await tokenOf(caller)}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      }
      const init = { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: AbortSignal.timeout(TIMEOUT_MS) }
      try {
        const response = await fetch(`${url}${path}`, init)
        const text = await response.text()
        const answer = text === '' ? {} : JSON.parse(text)
        return { status: response.status, code: response.ok ? '' : String(answer.error), body: answer }
      } catch {
        return { status: 0, code: 'unreachable', body: {} }
      }
    },
  }
}
