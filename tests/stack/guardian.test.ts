import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { processMark } from '../../deploy/local/child.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { finishFolders, guardedFolder } from './folder.ts'

const OWNER = `
  import { spawn } from 'node:child_process'
  import { guardedFolder } from ${JSON.stringify(fileURLToPath(new URL('./folder.ts', import.meta.url)))}
  const folder = guardedFolder()
  const sleeper = spawn('sleep', ['600'], { cwd: folder.path, detached: true, stdio: 'ignore' })
  process.stdout.write(JSON.stringify({ path: folder.path, pid: sleeper.pid }))
  setInterval(() => undefined, 1000)
`

test('when the owner of a guarded folder is killed with -9, the folder and the processes in it disappear', async () => {
  const owner = spawn(process.execPath, ['--input-type=module', '-e', OWNER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = (await once(owner.stdout!, 'data')) as [Buffer]
  const { path, pid } = JSON.parse(output.toString()) as { path: string; pid: number }
  expect(existsSync(path)).toBe(true)
  expect(processMark(pid)).toBeDefined()

  owner.kill('SIGKILL')

  await waitUntil(() => !existsSync(path) && processMark(pid) === undefined, { what: 'cleaning', timeoutMs: 10_000 })
})

test('finishing folders deletes them, and kills the processes in them and in their subfolders', async () => {
  const [first, second] = [guardedFolder(), guardedFolder()]
  const inside = join(second.path, 'a -> b')
  mkdirSync(inside)
  const sleepers = [first.path, inside].map((cwd) => spawn('sleep', ['600'], { cwd, detached: true, stdio: 'ignore' }))
  const outside = spawn('sleep', ['600'], { cwd: dirname(first.path), stdio: 'ignore' })
  onTestFinished(() => void outside.kill())
  const ends = sleepers.map((sleeper) => once(sleeper, 'exit'))

  await Promise.all([first.finish(), second.finish()])

  expect((await Promise.all(ends)).map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL'])
  expect([existsSync(first.path), existsSync(second.path)]).toEqual([false, false])
  expect([first.isFinishing, second.isFinishing]).toEqual([true, true])
  expect(processMark(outside.pid!)).toBeDefined()
})

test('finishFolders finishes the folders that a test file leaves, and may be called again', async () => {
  const [left, finished] = [guardedFolder(), guardedFolder()]
  await finished.finish()
  const sleeper = spawn('sleep', ['600'], { cwd: left.path, detached: true, stdio: 'ignore' })
  const end = once(sleeper, 'exit')

  await finishFolders()
  await finishFolders()

  expect((await end)[1]).toBe('SIGKILL')
  expect([left, finished].map(({ path, isFinishing }) => [existsSync(path), isFinishing])).toEqual([
    [false, true],
    [false, true],
  ])
})
