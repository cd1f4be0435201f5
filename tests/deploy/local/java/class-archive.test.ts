import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startChild } from '../../../../deploy/local/child.ts'
import { ensureClassArchive, type TemporaryServer } from '../../../../deploy/local/java/class-archive.ts'

const path = process.env.PATH
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-archive-'))
  // The tested code only resolves the path of `java`, so an empty file is enough.
  const java = join(folder, 'java')
  writeFileSync(java, '')
  chmodSync(java, 0o755)
  process.env.PATH = `${folder}:${path}`
})
afterEach(() => {
  process.env.PATH = path
  rmSync(folder, { recursive: true, force: true })
})

/** Returns a fake server that creates its archive immediately, as an empty file. */
function server(): TemporaryServer {
  let archive = ''
  return {
    async launch(_folder, _logFile, [option]) {
      archive = option.slice(option.indexOf('=') + 1)
      return { command: 'sh', args: ['-c', 'touch "$0"; exec sleep 60', archive] }
    },
    isHealthy: async () => existsSync(archive),
  }
}

test('the archive is created once', async () => {
  const archive = await ensureClassArchive(folder, server())
  expect(archive).toMatch(/classes-[0-9a-f]{12}\.jsa$/)
  expect(await ensureClassArchive(folder, server())).toBe(archive)
  expect(readdirSync(folder).filter((file) => file.startsWith('classes-'))).toHaveLength(1)
})

test('while a recent lock exists, no archive is created; an old lock is taken over, and the server that its owner left running is stopped', async () => {
  const archive = (await ensureClassArchive(folder, server()))!
  rmSync(archive)
  const lock = `${archive}.lock`
  mkdirSync(lock)
  const left = await startChild({
    name: 'archive',
    command: 'sleep',
    args: ['60'],
    cwd: folder,
    runDir: lock,
    logFile: join(folder, 'log'),
  })
  onTestFinished(() => left.kill())
  expect(await ensureClassArchive(folder, server())).toBeUndefined()
  expect(left.isRunning()).toBe(true)
  utimesSync(lock, 0, 0)
  expect(await ensureClassArchive(folder, server())).toBe(archive)
  expect([left.isRunning(), existsSync(lock)]).toEqual([false, false])
})
