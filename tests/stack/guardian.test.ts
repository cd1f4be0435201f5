import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { processMark } from '../../deploy/local/child.ts'
import { waitUntil } from '../../deploy/local/wait.ts'

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
