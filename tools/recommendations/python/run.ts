import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment } from '../../../scripts/python-environment.ts'
import { runPythonFile } from '../../python/run.ts'

const OUTPUT_BYTES = 1024 * 1024
const ONE_THREAD = '1'

/** Where Python's packages are. */
export interface PythonPlace {
  /** The folder that holds downloaded tools. */
  readonly tools: string
  /**
   * The folder of a virtual environment with the packages in requirements.txt. By default, an environment is created on
   * first use.
   */
  readonly python?: string
}

export interface PythonProgram extends PythonPlace {
  /** A program in this folder. The program reads its job from a JSON file and works only with files. */
  readonly program: 'factorise' | 'rank'
  readonly job: { readonly folder: string }
  readonly signal?: AbortSignal
}

/**
 * Runs a Python program. The program has the priority of this process, and no time limit: `signal` ends the program.
 * The program also ends when this process ends, even if it is killed (see `parent.py`).
 * @throws Error with the program's standard error
 */
export async function runPython({ program, job, tools, python, signal }: PythonProgram): Promise<void> {
  const here = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url))
  const bin =
    python !== undefined
      ? join(python, 'bin')
      : await pythonEnvironment({ name: 'recommendations', requirements: here('requirements.txt'), tools })
  await runPythonFile({
    file: here(`${program}.py`),
    job,
    folder: job.folder,
    bin,
    path: `${bin}:/usr/bin:/bin`,
    env: { OPENBLAS_NUM_THREADS: ONE_THREAD },
    outputBytes: OUTPUT_BYTES,
    signal,
  })
}
