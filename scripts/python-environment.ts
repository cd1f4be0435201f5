import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Time limit for installing packages from PyPI, including the wait for another process that builds the same
 * environment. Up to 150 MB are downloaded, which takes only seconds if a mirror is nearby.
 */
const INSTALL_TIMEOUT_MS = 5 * 60_000
/**
 * Builds the environment. The caller runs this script under `flock`, so that only one of several concurrent processes
 * builds it. The file `ready` is written last, so that an incomplete environment is never used. An environment stops
 * working when its Python is removed, or is replaced by a version that does not find the packages.
 */
const BUILD = `
set -e
[ -e "$1/ready" ] && "$1/bin/python" -c 'import pip' 2>/dev/null && exit 0
rm -rf "$1"
python3 -m venv "$1"
"$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
touch "$1/ready"
`

export interface PythonEnvironment {
  readonly name: string
  /** Path of the file that lists the packages. When the list changes, a new environment is built. */
  readonly requirements: string
  /** The folder that contains downloaded tools. */
  readonly tools: string
}

/**
 * Creates a Python environment on first use, and again when it no longer works. Returns the folder that contains its
 * programs.
 */
export async function pythonEnvironment({ name, requirements, tools }: PythonEnvironment): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12)
  const folder = join(tools, `python-${name}-${hash}`)
  const bin = join(folder, 'bin')
  if (existsSync(join(folder, 'ready')) && (await works(bin))) return bin
  await mkdir(tools, { recursive: true })
  try {
    await run('flock', [`${folder}.lock`, 'sh', '-c', BUILD, 'sh', folder, requirements], { timeout: INSTALL_TIMEOUT_MS })
  } catch (error) {
    const reason = ((error as { stderr?: string }).stderr || (error as Error).message).trim().split('\n').at(-1)
    throw new Error(
      `the Python packages of ${requirements} cannot be installed (python3 with venv and pip, and PyPI, are needed): ${reason}`,
    )
  }
  return bin
}

/** Returns whether the environment's Python starts and finds installed packages. */
async function works(bin: string): Promise<boolean> {
  return await run(join(bin, 'python'), ['-c', 'import pip']).then(
    () => true,
    () => false,
  )
}
