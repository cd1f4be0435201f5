import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { processMark } from '../../../deploy/local/child.ts'
import { assertNotForeign, findHome, HomeError, lockHolder, lockHome, openHome, resetHome } from '../../../deploy/local/home.ts'
import { chaosHome } from '../../chaos/config.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-home-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return join(path, 'home')
}

test('a data folder is created, marked, and recognized later', () => {
  const path = folder()
  expect(findHome(path)).toBeUndefined()
  const home = openHome(path)
  expect(existsSync(home.data)).toBe(true)
  expect(findHome(path)).toEqual(home)
})

test('only the owner of a data folder may open it, even if an earlier version of Millrace created it', () => {
  const path = folder()
  mkdirSync(path, { recursive: true, mode: 0o755 })
  openHome(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a folder with files that do not belong to Millrace is refused, because the folder may belong to another program', () => {
  const path = folder()
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'thesis.txt'), '')
  expect(() => assertNotForeign(path)).toThrow(/is not a data folder of Millrace, because it contains thesis.txt: .* MILLRACE_HOME/)
})

test('a missing folder, a data folder, and a folder with files from the setup or an API are accepted', () => {
  const path = folder()
  assertNotForeign(path)
  for (const part of ['tools', 'logs', 'auth', 'data']) mkdirSync(join(path, part), { recursive: true })
  assertNotForeign(path)
  openHome(path)
  writeFileSync(join(path, 'note.txt'), '')
  expect(() => assertNotForeign(path)).not.toThrow()
})

test('if the data folder cannot be created, the error names the setting MILLRACE_HOME', () => {
  expect(() => openHome('/dev/null/home')).toThrow(HomeError)
  expect(() => openHome('/dev/null/home')).toThrow(/MILLRACE_HOME/)
})

test('a reset deletes data, state and logs, and keeps the tools', async () => {
  const home = openHome(folder())
  for (const part of [home.data, home.state, home.logs, home.tools]) writeFileSync(join(part, 'file'), '')
  await resetHome(home.path)
  expect([home.data, home.state, home.logs].some(existsSync)).toBe(false)
  expect(existsSync(join(home.tools, 'file'))).toBe(true)
})

test('the evidence of a failed chaos run belongs to Millrace and survives a reset', async () => {
  const home = openHome(folder())
  const kept = join(chaosHome({ MILLRACE_HOME: home.path }), 'worker.log')
  mkdirSync(dirname(kept))
  writeFileSync(kept, '')
  await resetHome(home.path)
  expect([existsSync(home.data), existsSync(kept)]).toEqual([false, true])
})

test('a reset deletes the data even if a draft lock file was left behind when npm start was killed', async () => {
  const home = openHome(folder())
  writeFileSync(join(home.path, 'lock.4711'), '')
  await resetHome(home.path)
  expect(existsSync(home.data)).toBe(false)
})

test('taking a lock removes draft lock files that killed starts left behind', () => {
  const home = openHome(folder())
  writeFileSync(join(home.path, 'lock.4711'), '')
  const unlock = lockHome(home)
  expect(readdirSync(home.path).filter((entry) => entry.startsWith('lock'))).toEqual(['lock'])
  unlock()
})

test('a reset refuses a folder that Millrace did not create, and a folder that contains other files', async () => {
  const path = folder()
  mkdirSync(join(path, 'data'), { recursive: true })
  await expect(resetHome(path)).rejects.toThrow(/no file millrace-home/)
  const home = openHome(path)
  writeFileSync(join(path, 'thesis.txt'), '')
  await expect(resetHome(path)).rejects.toThrow(/it contains thesis.txt/)
  expect(existsSync(home.data)).toBe(true)
})

test('a reset of a missing folder does nothing', async () => {
  await expect(resetHome(folder())).resolves.toBeUndefined()
})

test('a reset deletes nothing in a folder that a running start has locked, or is about to lock', async () => {
  const home = openHome(folder())
  const unlock = lockHome(home)
  await expect(resetHome(home.path)).rejects.toThrow(/is in use by a running `npm start` \(pid \d+\): stop it before --reset/)
  unlock()
  const rival = new DatabaseSync(join(home.run, 'lock-guard'))
  rival.exec('BEGIN EXCLUSIVE')
  await expect(resetHome(home.path, 10)).rejects.toThrow(/another process is locking it/)
  expect(existsSync(home.data)).toBe(true)
  rival.close()
  await resetHome(home.path)
  expect(existsSync(home.data)).toBe(false)
})

test('no start can lock a folder while a reset deletes it', async () => {
  const home = openHome(folder())
  writeFileSync(join(home.run, 'server.pid'), '')
  const resetting = resetHome(home.path)
  // The reset is waiting for processes to end.
  expect(existsSync(home.data)).toBe(true)
  expect(() => lockHome(home, 10)).toThrow(/another process is locking it/)
  await resetting
  expect(readdirSync(home.run)).toEqual(['lock-guard'])
  lockHome(home)()
})

test('a folder cannot be locked again until its lock is released', () => {
  const home = openHome(folder())
  const unlock = lockHome(home)
  expect(lockHolder(home)).toBe(process.pid)
  expect(() => lockHome(home)).toThrow(/is in use by a running `npm start` \(pid \d+\)/)
  unlock()
  expect(lockHolder(home)).toBeUndefined()
  lockHome(home)()
})

test('a start does not change the lock of an ended process while another process is taking the lock over', () => {
  const home = openHome(folder())
  const lock = join(home.path, 'lock')
  const stale = JSON.stringify({ pid: 2 ** 22 + 1, startedAtTicks: '1' })
  writeFileSync(lock, stale)
  const rival = new DatabaseSync(join(home.run, 'lock-guard'))
  rival.exec('BEGIN EXCLUSIVE')
  expect(() => lockHome(home, 10)).toThrow(HomeError)
  expect(readFileSync(lock, 'utf8')).toBe(stale)
  rival.close()
  const unlock = lockHome(home)
  expect(lockHolder(home)).toBe(process.pid)
  unlock()
})

test.each([
  ['the pid of a process that has ended', { pid: 2 ** 22 + 1, startedAtTicks: '1' }],
  ['the pid of an unrelated process', { ...processMark(process.pid), startedAtTicks: '1' }],
  ['unreadable content', 'x'],
])('a lock that contains %s is taken over', (_who, mark) => {
  const home = openHome(folder())
  writeFileSync(join(home.path, 'lock'), JSON.stringify(mark))
  const unlock = lockHome(home)
  expect(lockHolder(home)).toBe(process.pid)
  unlock()
})
