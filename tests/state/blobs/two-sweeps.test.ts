import { mkdtempSync, type PathLike, rmSync, utimesSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { folderShelf } from '../../../state/blobs/folder.ts'

/** Performs `act` once, right before the given call for a file that a sweep has moved aside. */
function before(call: 'stat' | 'unlink', act: () => Promise<void>): void {
  const real = files[call] as (path: PathLike) => Promise<never>
  let isDone = false
  const spy = vi.spyOn(files, call).mockImplementation((async (path: PathLike) => {
    if (!isDone && String(path).endsWith('.aside')) {
      isDone = true
      await act()
    }
    return await real(path)
  }) as never)
  syncBuiltinESMExports()
  onTestFinished(() => {
    spy.mockRestore()
    syncBuiltinESMExports()
  })
}

const HASH = 'ab'.repeat(32)
const NOW = Date.now()
const BEFORE = NOW - 3_600_000

/**
 * Stores a blob that was last touched before `BEFORE`. Returns two shelves on the same folder, as two processes would
 * have, and a function that lists the blobs of the second shelf. The listing puts back blobs that a sweep has moved
 * aside.
 */
async function sharedFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sweeps-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [one, other] = [folderShelf(folder), folderShelf(folder)]
  await one.put(HASH, { kind: 'memory', bytes: Buffer.from('content') })
  const old = new Date(BEFORE - 1_000)
  utimesSync(join(folder, HASH.slice(0, 2), `${HASH}.zst`), old, old)
  const list = async () => void (await Array.fromAsync(other.list()))
  return { one, other, list }
}

test('a sweep does not remove a blob that another sweep puts back before the first sweep has checked the time of the blob', async () => {
  const { one, list } = await sharedFolder()
  before('stat', list)
  expect(await one.removeUntouched(HASH, BEFORE)).toBe(false)
  expect(await one.removeUntouched(HASH, BEFORE)).toBe(true)
})

test('a sweep does not remove a blob that another sweep has put back and that was touched afterwards', async () => {
  const { one, other, list } = await sharedFolder()
  before('unlink', async () => {
    await list()
    expect(await other.touch(HASH)).toBe(true)
    // The other sweep has listed the blob before the touch, so it tries to remove the blob, too. The first sweep
    // finishes while the blob is moved aside by the other sweep.
    const aside = Promise.withResolvers<void>()
    before('stat', async () => {
      aside.resolve()
      await removing
    })
    checking = other.removeUntouched(HASH, BEFORE)
    await aside.promise
  })
  let checking: Promise<boolean> | undefined
  const removing = one.removeUntouched(HASH, BEFORE)
  expect(await removing).toBe(false)
  expect(await checking).toBe(false)
  expect(await one.open(HASH)).toEqual(Buffer.from('content'))
})
