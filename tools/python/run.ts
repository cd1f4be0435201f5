import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** This folder, which contains the module `parent`. */
const SHARED = fileURLToPath(new URL('.', import.meta.url))
/**
 * OpenMP policy that lets waiting threads sleep. Spinning threads take twice the CPU time and twice as long on a busy
 * machine.
 */
const PASSIVE = 'PASSIVE'

export interface PythonRun {
  /** The program's file. The program reads its job from a JSON file. */
  readonly file: string
  readonly job: object
  /** The folder for the file with the job. */
  readonly folder: string
  /** The folder of the Python executable. */
  readonly bin: string
  /** Folders in which the program finds other executables, separated by colons. */
  readonly path: string
  /** Further environment variables. */
  readonly env: Readonly<Record<string, string>>
  /** Maximum size of the program's output. */
  readonly outputBytes: number
  /** Default: no time limit. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs a Python program. A program that calls `end_with_parent` also ends when this process ends, even if it is killed.
 * @throws Error with the program's standard error
 */
export async function runPythonFile(run: PythonRun): Promise<void> {
  const { file, job, folder, bin, path, outputBytes, timeoutMs, signal } = run
  const name = basename(file)
  const jobFile = join(folder, `${basename(file, '.py')}.json`)
  await writeFile(jobFile, JSON.stringify(job))
  await new Promise<void>((resolve, reject) => {
    const env = { PATH: path, PYTHONPATH: SHARED, PYTHONDONTWRITEBYTECODE: '1', OMP_WAIT_POLICY: PASSIVE, ...run.env }
    execFile(join(bin, 'python'), [file, jobFile], { timeout: timeoutMs, maxBuffer: outputBytes, env, signal }, (error, _stdout, stderr) =>
      error ? reject(new Error(`${name}: ${stderr.trim() || error.message}`, { cause: error })) : resolve(),
    )
  })
}
