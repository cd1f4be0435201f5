import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python.ts'

/** Time limit of a test that fuzzes an API. Installing the fuzzer for the first time may take a minute or two. */
export const FUZZ_TIMEOUT_MS = 300_000
/** A fixed seed, so that a failure can be reproduced. */
const SEED = '20260115'
/**
 * Default number of random requests per route. Because the seed is fixed, every run sends the same requests, so a
 * larger number would cost CPU time in every run and find little. Schemathesis also sends systematic requests, such as
 * values at and beyond each limit of the schema, and this number does not affect them.
 */
const EXAMPLES = 10
const OUTPUT_BYTES = 64 * 1024 * 1024
/**
 * The schemathesis check that is skipped for every API. It expects an API to accept every request that matches the
 * schema, but an API may refuse such a request because of rules across fields or existing data.
 */
const LEFT_OUT = 'positive_data_acceptance'

export interface FuzzOptions {
  readonly url: string
  /** The Authorization header of the requests; undefined to send no token. */
  readonly authorization?: string
  /** How many random requests to generate per route. Default 10. */
  readonly examples?: number
  /** Base URL of openapi.json, if it is not `url`. */
  readonly documentation?: string
  /** Additional headers of every request, such as `Host: sho.rt`. */
  readonly headers?: readonly string[]
  /** Options for schemathesis that select routes. */
  readonly routes: readonly string[]
  /** Names of schemathesis checks to skip for these routes. */
  readonly leftOut?: readonly string[]
  /** Working folder for the fuzzer's files. */
  readonly folder: string
}

/**
 * Tests an API with schemathesis, which generates valid and invalid requests from /openapi.json.
 * @throws Error with the report of schemathesis if it finds a fault
 */
export async function fuzz({
  url,
  documentation = url,
  headers = [],
  authorization,
  examples = EXAMPLES,
  routes,
  leftOut = [],
  folder,
}: FuzzOptions): Promise<void> {
  const bin = await pythonEnvironment('schemathesis')
  const args = ['run', `${documentation}/openapi.json`, '--url', url, ...routes]
  if (authorization !== undefined) args.push('-H', `Authorization: ${authorization}`)
  args.push(...headers.flatMap((header) => ['-H', header]))
  args.push('--exclude-checks', [LEFT_OUT, ...leftOut].join(), '--max-examples', String(examples), '--seed', SEED)
  try {
    await promisify(execFile)(join(bin, 'python'), ['-m', 'schemathesis.cli', ...args], { cwd: folder, maxBuffer: OUTPUT_BYTES })
  } catch (failure) {
    const { stdout, message } = failure as { stdout?: string; message: string }
    throw new Error((stdout || message).replaceAll(/(.{400}).+/g, '$1 …'))
  }
}
