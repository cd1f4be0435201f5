import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { faultInLog, startChild } from '../../../deploy/local/child.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { guardedFolder } from '../../stack/folder.ts'

const DEADLINE_MS = 60_000

function pidsOf(args: readonly string[]): number[] {
  const wanted = `${args.join('\0')}\0`
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && commandLineOf(pid) === wanted)
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

test('a process whose pid file cannot be written is killed, because no other command could find and stop it', async () => {
  const { path } = guardedFolder()
  const runDir = join(path, 'run')
  mkdirSync(join(runDir, 'server.pid'), { recursive: true })
  const duration = `1000000.${process.pid}`
  onTestFinished(() => {
    for (const pid of pidsOf(['sleep', duration])) process.kill(pid, 'SIGKILL')
  })
  const spec = { name: 'server', command: 'sleep', args: [duration], cwd: path, logFile: join(path, 'log'), runDir }
  await expect(startChild(spec)).rejects.toThrow('EISDIR')
  await waitUntil(() => pidsOf(['sleep', duration]).length === 0, { what: 'the end of the process', timeoutMs: DEADLINE_MS })
})

test.each([
  [
    'the message with which the process ended',
    'connect failed\nthe worker stopped: no schema\n{"msg":"an error while stopping"}\n',
    'the worker stopped: no schema',
  ],
  [
    'the last error, if there is no such message',
    'java.io.IOException: no space\n\tat java.io.File failed\nended\n',
    'java.io.IOException: no space',
  ],
  ['the last line, if there is no error either', 'one\ntwo\n', 'two'],
  [
    'one line with all invalid settings',
    'the API cannot start: invalid settings:\n  LOG_LEVEL: is not one of a, b\n  API_HOST: cannot be used\n',
    'the API cannot start: invalid settings: LOG_LEVEL: is not one of a, b; API_HOST: cannot be used',
  ],
])('the reported reason why a process did not start is %s', (_what, text, reason) => {
  const logFile = join(guardedFolder().path, 'log')
  writeFileSync(logFile, text)
  expect(faultInLog(logFile)).toBe(reason)
})
