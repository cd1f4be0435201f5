import { fileURLToPath } from 'node:url'
import { pythonEnvironment } from '../../../scripts/python-environment.ts'
import { runPythonFile } from '../../python/run.ts'

const TIMEOUT_MS = 20 * 60_000
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
  await runPythonFile({
    file: here(`${program}.py`),
    job,
    folder,
    bin,
    path: bin,
    // ONNX Runtime would otherwise send data about the models to its vendor.
    env: { ORT_DISABLE_TELEMETRY: '1' },
    outputBytes: OUTPUT_BYTES,
    timeoutMs: TIMEOUT_MS,
  })
}
