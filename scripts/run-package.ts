import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = join(ROOT, 'node_modules', '.bin')

/**
 * What happens to a command's output. `through` forwards it immediately. `lines` forwards whole lines, so that commands
 * can run concurrently. `at-end` forwards everything when the command has ended.
 */
export type Output = 'through' | 'lines' | 'at-end'

/**
 * Runs a package's program with the current Node.
 * @param timeoutMs the program is killed after this time
 * @returns its exit code, or 1 if a signal ended it
 */
export async function runPackage(command: string, args: readonly string[], output: Output, timeoutMs?: number): Promise<number> {
  const child = spawn(process.execPath, [join(BIN, command), ...args], {
    cwd: ROOT,
    stdio: output === 'through' ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const kept: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    createInterface({ input: stream }).on('line', (line) => {
      if (output === 'lines') process.stdout.write(`${line}\n`)
      else kept.push(`${line}\n`)
    })
  }
  // Ctrl-C in a terminal also reaches the child. A signal that is sent only to this process does not, so the handler
  // forwards it.
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
