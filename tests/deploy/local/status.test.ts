import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { lockHome, openHome } from '../../../deploy/local/home.ts'
import { writeRunFile } from '../../../deploy/local/run-file.ts'
import { guardedFolder } from '../../stack/folder.ts'

const STATUS = join(import.meta.dirname, '../../../deploy/local/status.ts')

test('while a start is running, the status does not show the parts of an earlier start that was killed', async () => {
  const home = openHome(join(guardedFolder().path, 'home'))
  writeRunFile(home, { pid: process.pid + 1, startedAt: new Date(0).toISOString(), parts: [] })
  onTestFinished(lockHome(home))
  const env = { ...process.env, MILLRACE_HOME: home.path }
  await expect(promisify(execFile)(process.execPath, [STATUS], { env })).rejects.toMatchObject({
    code: 1,
    stdout: `npm start (pid ${process.pid}) has not finished starting yet.\n`,
  })
})

test('the status names each missing part that an API can do without, and the reason', async () => {
  const degraded = [{ name: 'view links', reason: 'still being built: partitions 0' }]
  const server = createServer((_request, response) => void response.end(JSON.stringify({ status: 'ready', degraded })))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const home = openHome(join(guardedFolder().path, 'home'))
  writeRunFile(home, {
    pid: process.pid,
    startedAt: new Date().toISOString(),
    parts: [{ name: 'api-0', kind: 'api', address, logFile: undefined }],
  })
  onTestFinished(lockHome(home))
  const env = { ...process.env, MILLRACE_HOME: home.path }
  const { stdout } = await promisify(execFile)(process.execPath, [STATUS], { env })
  expect(stdout).toMatch(/ {2}api-0 +external +degraded +http.*\n +view links: still being built: partitions 0\n/)
})
