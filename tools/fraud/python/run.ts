import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment } from '../../../scripts/python-environment.ts'

/** The folder of the module `parent`. */
const SHARED = fileURLToPath(new URL('../../python', import.meta.url))
const TIMEOUT_MS = 20 * 60_000
/**
 * OpenMP policy that lets waiting threads sleep. Spinning threads take twice the CPU time and twice as long on a busy
 * machine.
 */
const PASSIVE = 'PASSIVE'
const OUTPUT_BYTES = 16 * 1024 * 1024

export interface PythonJob {
  /** A program in this folder. The program reads its job from a JSON file. */
  readonly program: 'train' | 'evaluate'
  readonly job: object
  /** A folder for the job's files. */
  readonly folder: string
  /** The folder that holds downloaded tools. */
  readonly tools: string
}

/**
 * Runs a Python program in an environment that is created on first use. The program also ends when this process ends,
 * even if it is killed (see `parent.py`).
 * @throws Error with the program's standard error
 */
export async function runPython({ program, job, folder, tools }: PythonJob): Promise<void> {
  const here = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url))
  const bin = await pythonEnvironment({ name: 'fraud', requirements: here('requirements.txt'), tools })
  const jobFile = join(folder, `${program}.json`)
  await writeFile(jobFile, JSON.stringify(job))
  await new Promise<void>((resolve, reject) => {
    // ONNX Runtime would otherwise send data about the models to its vendor.
    const noTelemetry = { ORT_DISABLE_TELEMETRY: '1' }
    const env = { PATH: bin, PYTHONPATH: SHARED, PYTHONDONTWRITEBYTECODE: '1', OMP_WAIT_POLICY: PASSIVE, ...noTelemetry }
    const options = { timeout: TIMEOUT_MS, maxBuffer: OUTPUT_BYTES, env }
    execFile(join(bin, 'python'), [here(`${program}.py`), jobFile], options, (error, _stdout, stderr) =>
      error ? reject(new Error(`${program}.py: ${stderr.trim() || error.message}`)) : resolve(),
    )
  })
}
