import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lockHolder, lockHome, openHome } from '../../../deploy/local/home.ts'

/** Called before a file is removed. */
const before = vi.hoisted(() => ({ removal: undefined as ((path: string) => void) | undefined }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const removing = (path: string, options?: object) => {
    before.removal?.(path)
    fs.rmSync(path, options)
  }
  return { ...fs, rmSync: removing }
})

test('if two processes take over the same stale lock at once, only one succeeds', { timeout: 30_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-home-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const home = openHome(join(folder, 'home'))
  const lock = join(home.path, 'lock')
  writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1, startedAtTicks: '1' }))
  const attempts: string[] = []
  const attempt = (): void => {
    try {
      lockHome(home)
      attempts.push('locked')
    } catch {
      attempts.push('refused')
    }
  }
  before.removal = (path) => {
    if (path !== lock) return
    before.removal = undefined
    // The rival starts after this process has found that the lock is stale, and before it removes the lock.
    attempt()
  }
  attempt()
  expect(attempts).toEqual(['refused', 'locked'])
  expect(lockHolder(home)).toBe(process.pid)
})
