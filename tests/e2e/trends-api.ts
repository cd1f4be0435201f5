import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Component } from '../../deploy/local/component.ts'
import type { System } from './system.ts'

const run = promisify(execFile)
const TOKEN_COMMAND = fileURLToPath(new URL('../../tools/token/main.ts', import.meta.url))

export interface ListBody {
  readonly as_of: string
  readonly personalized: boolean
  readonly trends: readonly {
    readonly rank: number
    readonly name: string
    readonly term: string
    readonly tweet_volume: number
    readonly volume_24h: number
    readonly velocity: number
    readonly variants: readonly string[]
  }[]
}

export interface ApiAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

export async function get(api: Component, path: string, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  const response = await fetch(`${api.address}${path}`, { headers })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

/**
 * Reads the region's list.
 * @throws Error if the status of the response is not 200, for example because the region has no list
 */
export async function listOf(api: Component, woeid: number, query = '', headers: Record<string, string> = {}): Promise<ListBody> {
  const { status, text } = await get(api, `/v1/trends?woeid=${woeid}${query}`, headers)
  if (status !== 200) throw new Error(`the request for the list of region ${woeid} got status ${status}: ${text}`)
  return JSON.parse(text)
}

/** Returns a header with a development token. The token is created with the same command that users run. */
export async function tokenFor({ env }: System, ...args: string[]): Promise<{ authorization: string }> {
  const { stdout } = await run(process.execPath, [TOKEN_COMMAND, ...args], { env: { ...process.env, ...env } })
  return { authorization: `Bearer ${stdout.trim()}` }
}
