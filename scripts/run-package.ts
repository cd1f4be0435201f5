import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = join(ROOT, 'node_modules', '.bin')

/**
 * Where the output of a command goes: `through` to ours as it comes; `lines`, whole lines of it, so that commands may run beside each other;
 * `at-end`, all of it when the command has ended.
 */
export type Output = 'through' | 'lines' | 'at-end'

/** Runs a program of a package with our Node. Answers its exit code. */
export async function runPackage(command: string, args: readonly string[], output: Output): Promise<number> {
  const child = spawn(process.execPath, [join(BIN, command), ...args], {
    cwd: ROOT,
    stdio: output === 'through' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  })
  const kept: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', (line) => {
      if (output === 'lines') process.stdout.write(`${line}\n`)
      else kept.push(`${line}\n`)
    })
  }
  // Ctrl-C reaches the child by the terminal; a signal sent to this process alone would not.
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  process.on('SIGTERM', forward).on('SIGINT', forward)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code ?? 1))
    })
  } finally {
    process.off('SIGTERM', forward).off('SIGINT', forward)
    process.stdout.write(kept.join(''))
  }
}
