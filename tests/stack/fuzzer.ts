import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python.ts'

/** Time limit of a test that fuzzes an API. Installing the fuzzer for the first time may take a minute or two. */
export const FUZZ_TIMEOUT_MS = 300_000
/** A fixed seed, so that a failure can be reproduced. */
const SEED = '20260115'
const OUTPUT_BYTES = 64 * 1024 * 1024
/**
 * Leaves out the check that every request that matches the schema is accepted. A matching request may be refused
 * because of rules across fields or because of existing data.
 */
const LEFT_OUT = 'positive_data_acceptance'

export interface FuzzOptions {
  readonly url: string
  /** The caller's Authorization header; undefined if the caller has no token. */
  readonly authorization?: string
  /** Number of examples per route. */
  readonly examples: number
  /** Address of the documentation, if it is not on `url`. */
  readonly documentation?: string
  /** Additional headers of every request, such as `Host: sho.rt`. */
  readonly headers?: readonly string[]
  /** Options of schemathesis that select routes. */
  readonly routes: readonly string[]
  /** Names of schemathesis checks that these routes need not pass. */
  readonly leftOut?: readonly string[]
  /** Working folder for the fuzzer's files. */
  readonly folder: string
}

/**
 * Tests an API with requests from its /openapi.json, valid and invalid, with schemathesis. Throws with the report if it
 * finds a fault.
 */
export async function fuzz({
  url,
  documentation = url,
  headers = [],
  authorization,
  examples,
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
    await promisify(execFile)(join(bin, 'schemathesis'), args, { cwd: folder, maxBuffer: OUTPUT_BYTES })
  } catch (failure) {
    const { stdout, message } = failure as { stdout?: string; message: string }
    throw new Error((stdout || message).replaceAll(/(.{400}).+/g, '$1 …'))
  }
}
