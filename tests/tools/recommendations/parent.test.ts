import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { processMark } from '../../../deploy/local/child.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'

const FOLDER = join(import.meta.dirname, '../../../tools/recommendations/python')
/** A Python program that runs for ten minutes, unless `end_with_parent` ends it. */
const PROGRAM = `import sys, time; sys.path.insert(0, ${JSON.stringify(FOLDER)}); from parent import end_with_parent; end_with_parent(); time.sleep(600)`
/** A Node program that starts the Python program as `runPython` does, and prints the process id of that program. */
const STARTER = `console.log(require('node:child_process').execFile('python3', ['-c', process.argv[1]]).pid)`

test('a Python program ends when the process that started it is killed', async () => {
  const starter = spawn(process.execPath, ['-e', STARTER, PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void starter.kill('SIGKILL'))
  const [line] = await once(starter.stdout, 'data')
  const pid = Number(line)
  onTestFinished(() => {
    if (processMark(pid) !== undefined) process.kill(pid, 'SIGKILL')
  })
  expect(processMark(pid)).toBeDefined()
  starter.kill('SIGKILL')
  await waitUntil(() => processMark(pid) === undefined, { what: 'the end of the Python program', timeoutMs: 30_000 })
})
