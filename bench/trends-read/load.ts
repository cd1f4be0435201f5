import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PeerMissingError } from '../peer-missing.ts'

export interface LoadOptions {
  readonly url: string
  readonly paths: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly connections: number
  readonly seconds: number
  /** Folder in which the file with the request paths is written. */
  readonly folder: string
}

export interface LoadResult {
  readonly requests: number
  readonly durationMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** Number of socket errors, timeouts, and responses with a status other than 2xx or 3xx. */
  readonly failed: number
}

const SCRIPT = fileURLToPath(new URL('./wrk.lua', import.meta.url))
const run = promisify(execFile)
/** Time limit of a request. Slower requests count as failed. */
const TIMEOUT_SECONDS = 5

/**
 * Checks that wrk is installed.
 * @returns true
 * @throws PeerMissingError when wrk is not installed
 */
export async function requireWrk(): Promise<true> {
  try {
    // wrk prints its version with exit code 1, so the exit code is ignored.
    await run('wrk', ['--version'])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new PeerMissingError('wrk is not installed; as root: apt-get install -y wrk')
  }
  return true
}

/**
 * Applies load with wrk on one thread, in a closed loop: each connection always has one request in flight. A load
 * generator in JavaScript would take more CPU time than the server under test.
 */
export async function applyLoad(options: LoadOptions): Promise<LoadResult> {
  const file = join(options.folder, `paths-${options.paths.length}-${options.url.replaceAll(/\W/g, '')}`)
  await writeFile(file, options.paths.join('\n'))
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const args = ['--threads', '1', '--connections', String(options.connections), '--duration', `${options.seconds}s`]
  args.push('--timeout', `${TIMEOUT_SECONDS}s`, '--script', SCRIPT, options.url, '--', file, ...headers)
  const { stdout } = await run('wrk', args)
  const line = /^RESULT (.+)$/m.exec(stdout)
  if (line === null) throw new Error(`wrk printed no result: ${stdout}`)
  return JSON.parse(line[1]) as LoadResult
}
