import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python.ts'

/** Installing the fuzzer once may take a minute or two. */
export const FUZZ_TIMEOUT_MS = 300_000
/** A failure is found again. */
const SEED = '20260115'
const OUTPUT_BYTES = 64 * 1024 * 1024
/** That every request which fits the schema is accepted: rules that span several fields, or what is there already, may refuse it. */
const LEFT_OUT = 'positive_data_acceptance'

export interface FuzzOptions {
  readonly url: string
  /** Undefined: a caller without a token. */
  readonly authorization?: string
  /** Per route. */
  readonly examples: number
  /** Where the documentation is, if not at `url`. */
  readonly documentation?: string
  /** Further headers of every request: `Host: sho.rt`. */
  readonly headers?: readonly string[]
  /** Options of schemathesis that choose routes. */
  readonly routes: readonly string[]
  /** Checks that these routes need not pass. */
  readonly leftOut?: readonly string[]
  /** Where it runs and leaves its files. */
  readonly folder: string
}

/** Asks an API what its /openapi.json allows and more, with schemathesis; throws with its report when it finds something. */
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
