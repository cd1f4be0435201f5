import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment as makeEnvironment } from '../../scripts/python-environment.ts'
import { TOOLS } from './servers.ts'

/**
 * Returns the folder (with bin/…) of a Python environment with the packages in tests/stack/python/<name>.txt. The
 * environment is stored with the downloaded tools. The packages contain independent software that checks our output:
 * librdkafka, Confluent's serializers, and schemathesis.
 */
export function pythonEnvironment(name: 'confluent' | 'schemathesis'): Promise<string> {
  const requirements = fileURLToPath(new URL(`./python/${name}.txt`, import.meta.url))
  return makeEnvironment({ name, requirements, tools: TOOLS })
}

export interface PythonOptions {
  readonly environment?: 'confluent' | 'schemathesis'
  readonly args?: readonly string[]
  readonly input?: string
  readonly timeoutMs?: number
}

/**
 * Default time limit for a Python program. A program that uses the broker runs for seconds, or for minutes on a busy
 * machine. Each test also has its own time limit.
 */
const PYTHON_TIMEOUT_MS = 240_000
const OUTPUT_BYTES = 64 * 1024 * 1024

/**
 * Runs a Python file and returns its standard output.
 * @throws Error with the program's standard error if the program fails
 */
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
