import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { TOOLS } from './servers.ts'

const run = promisify(execFile)

/** Time limit for installing 30-60 MB of packages from PyPI, which takes seconds from a nearby mirror. */
const INSTALL_TIMEOUT_MS = 5 * 60_000
/** `flock` lets only one of several concurrent test processes build it. The stamp is written last. */
const BUILD = `
set -e
[ -e "$1/ready" ] && exit 0
rm -rf "$1"
python3 -m venv "$1"
"$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
touch "$1/ready"
`

/**
 * Returns the folder (bin/…) of a Python environment with the packages of tests/stack/python/<name>.txt. It is kept
 * with the downloaded tools. Independent clients verify our output: librdkafka and Confluent's serializers, and
 * schemathesis.
 */
export async function pythonEnvironment(name: 'confluent' | 'schemathesis'): Promise<string> {
  const requirements = fileURLToPath(new URL(`./python/${name}.txt`, import.meta.url))
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12)
  const folder = join(TOOLS, `python-${name}-${hash}`)
  if (existsSync(join(folder, 'ready'))) return join(folder, 'bin')
  await mkdir(TOOLS, { recursive: true })
  try {
    await run('flock', [`${folder}.lock`, 'sh', '-c', BUILD, 'sh', folder, requirements], { timeout: INSTALL_TIMEOUT_MS })
  } catch (error) {
    const reason = ((error as { stderr?: string }).stderr || (error as Error).message).trim().split('\n').at(-1)
    throw new Error(
      `the Python packages of ${requirements} cannot be installed (python3 with venv and pip, and PyPI, are needed): ${reason}`,
    )
  }
  return join(folder, 'bin')
}

export interface PythonOptions {
  readonly environment?: 'confluent' | 'schemathesis'
  readonly args?: readonly string[]
  readonly input?: string
  readonly timeoutMs?: number
}

/** A client of the broker takes seconds, and minutes on a busy machine. Tests have time limits of their own. */
const PYTHON_TIMEOUT_MS = 240_000
const OUTPUT_BYTES = 64 * 1024 * 1024

/** Runs a Python file and returns its standard output. Throws with its standard error. */
export async function runPython(file: string, options: PythonOptions = {}): Promise<string> {
  const bin = await pythonEnvironment(options.environment ?? 'confluent')
  return new Promise((resolve, reject) => {
    const child = execFile(
      join(bin, 'python'),
      [file, ...(options.args ?? [])],
      { timeout: options.timeoutMs ?? PYTHON_TIMEOUT_MS, maxBuffer: OUTPUT_BYTES },
      (error, stdout, stderr) => (error ? reject(new Error(`${file}: ${error.message}\n${stderr}`)) : resolve(stdout)),
    )
    child.stdin?.end(options.input ?? '')
  })
}
