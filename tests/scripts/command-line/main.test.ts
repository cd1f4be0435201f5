import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const COMMAND_LINE = join(import.meta.dirname, '../../../scripts/command-line')
/** A command that writes when it is stopped, and creates a file when it has stopped. */
const COMMAND = `
const { runMain } = await import(process.argv[1] + '/main.ts')
const { onStopSignal } = await import(process.argv[1] + '/stop-signal.ts')
const { writeFileSync } = await import('node:fs')
await runMain(async () => {
  const stopping = new Promise((resolve) => onStopSignal(resolve))
  const alive = setInterval(() => {}, 1e6)
  process.stdout.write('ready\\n')
  await stopping
  process.stdout.write('Stopping ...\\n')
  await new Promise((resolve) => setImmediate(resolve))
  writeFileSync(process.argv[2], '')
  clearInterval(alive)
})
process.exit()
`
/** Runs a command in a terminal, and closes the terminal when the command is ready. */
const TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
output = b''
while b'ready' not in output:
    output += os.read(terminal, 1024)
os.close(terminal)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
`

function stoppedFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-terminal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'stopped')
}

test('a command whose terminal is closed can stop what it has started, although nobody reads its output', async () => {
  const stopped = stoppedFile()
  const command = [process.execPath, '--input-type=module', '-e', COMMAND, COMMAND_LINE, stopped]
  const [code] = await once(spawn('python3', ['-c', TERMINAL, ...command], { stdio: 'inherit' }), 'exit')
  expect(existsSync(stopped)).toBe(true)
  expect(code).toBe(0)
})

test('a command whose output goes to a full disk can stop what it has started, and fails', async () => {
  const stopped = stoppedFile()
  const command = spawn(process.execPath, ['--input-type=module', '-e', COMMAND, COMMAND_LINE, stopped], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  })
  const [[message], [code]] = await Promise.all([once(command.stderr!, 'data'), once(command, 'exit')])
  expect(String(message)).toBe('millrace: the output cannot be written: ENOSPC: no space left on device, write\n')
  expect(existsSync(stopped)).toBe(true)
  expect(code).toBe(1)
})
